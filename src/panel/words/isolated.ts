/**
 * A name inside a text that is no element of its own, such as the title of a dialog: between U+2068 and U+2069 its
 * letters, which may run from right to left, turn nothing around that stands beside them. Elsewhere an element with the
 * class `name` does it.
 */
export const isolated = (name: string): string => `\u2068${name}\u2069`;
