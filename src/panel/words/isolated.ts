/**
 * Isolates a name inside a plain text, such as a dialog title, with U+2068 and U+2069. Right-to-left names then do not
 * affect the text around them. Elements use the class `name` instead.
 */
export const isolated = (name: string): string => `\u2068${name}\u2069`;
