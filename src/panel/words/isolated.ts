/**
 * Wraps a name in the isolate characters U+2068 and U+2069, for plain texts such as dialog titles. A right-to-left name
 * then does not change the direction of the surrounding text. In elements, use the CSS class `name` instead.
 */
export const isolateName = (name: string): string => `\u2068${name}\u2069`;
