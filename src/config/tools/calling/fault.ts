/** Defines faults of tool arguments, and the location of the invalid value. */

/** Location of a value, which is a member of an object or a list. Undefined stands for the arguments as a whole. */
export interface Place {
  readonly within: Place | undefined;
  readonly key: string | number;
}

/** Fault of one value in the arguments of a tool. */
export interface Fault {
  readonly place: Place | undefined;
  /**
   * Kind of the fault.
   * - `type`: the value has the wrong type.
   * - `value`: the value is not one of the allowed values, or has the wrong format.
   * - `other`: any other fault.
   */
  readonly kind: 'type' | 'value' | 'other';
  /** Phrase that follows the name of the field, such as `must be a text`. */
  readonly detail: string;
}

const LONGEST_FIELD = 200;

/**
 * Formats a location, such as `contacts[0].phone`. Returns an empty text for the arguments as a whole. Shortens long
 * names.
 */
export function fieldOf(place: Place | undefined): string {
  if (place === undefined) return '';
  const before = fieldOf(place.within);
  if (typeof place.key === 'number') return `${before}[${place.key}]`;
  const field = before === '' ? place.key : `${before}.${place.key}`;
  return field.length <= LONGEST_FIELD ? field : `${field.slice(0, LONGEST_FIELD)}…`;
}
