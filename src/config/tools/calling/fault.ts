/** Faults of tool arguments, and the location of the invalid value. */

/**
 * Location of a value: a member of an object or a list, within the location of its parent. Undefined: the arguments
 * themselves.
 */
export interface Place {
  readonly within: Place | undefined;
  readonly key: string | number;
}

/** A fault of a value. */
export interface Fault {
  readonly place: Place | undefined;
  /**
   * `type`: the value has the wrong type. `value`: the value is not one of the allowed values. `other`: any other
   * fault.
   */
  readonly kind: 'type' | 'value' | 'other';
  /** Phrase that follows the name of the field, such as `must be a text`. */
  readonly detail: string;
}

const LONGEST_FIELD = 200;

/** Formats a location, such as `contacts[0].phone`. Empty for the arguments themselves. Long names are cut. */
export function fieldOf(place: Place | undefined): string {
  if (place === undefined) return '';
  const before = fieldOf(place.within);
  if (typeof place.key === 'number') return `${before}[${place.key}]`;
  const field = before === '' ? place.key : `${before}.${place.key}`;
  return field.length <= LONGEST_FIELD ? field : `${field.slice(0, LONGEST_FIELD)}…`;
}
