/** A fault of tool arguments and its location. */

/** A member of an object or a list, within its parent; undefined: the arguments themselves. */
export interface Place {
  readonly within: Place | undefined;
  readonly key: string | number;
}

export interface Fault {
  readonly place: Place | undefined;
  /** `type`: wrong type; `value`: value not allowed. Both concern the whole value. */
  readonly kind: 'type' | 'value' | 'other';
  /** Follows the field's name. */
  readonly detail: string;
}

const LONGEST_FIELD = 200;

/** Formats a place: `contacts[0].phone`; empty for the arguments themselves. */
export function fieldOf(place: Place | undefined): string {
  if (place === undefined) return '';
  const before = fieldOf(place.within);
  if (typeof place.key === 'number') return `${before}[${place.key}]`;
  const field = before === '' ? place.key : `${before}.${place.key}`;
  return field.length <= LONGEST_FIELD ? field : `${field.slice(0, LONGEST_FIELD)}…`;
}
