/** One thing that is wrong with arguments, and where. */

/** A member of an object or of a list, within what it is a member of; undefined there: the arguments themselves. */
export interface Place {
  readonly within: Place | undefined;
  readonly key: string | number;
}

export interface Fault {
  readonly place: Place | undefined;
  /** `type`: of another type; `value`: another value than is allowed. Both are about the whole value. */
  readonly kind: 'type' | 'value' | 'other';
  /** Goes behind the field. */
  readonly detail: string;
}

const LONGEST_FIELD = 200;

/** `contacts[0].phone`; empty for the arguments themselves. */
export function fieldOf(place: Place | undefined): string {
  if (place === undefined) return '';
  const before = fieldOf(place.within);
  if (typeof place.key === 'number') return `${before}[${place.key}]`;
  const field = before === '' ? place.key : `${before}.${place.key}`;
  return field.length <= LONGEST_FIELD ? field : `${field.slice(0, LONGEST_FIELD)}…`;
}
