/**
 * Finds names, values and targets in the bytes of HTTP message heads, by character classes (RFC 9110 section 5.6.2, RFC
 * 9112 section 5).
 */

export const CR = 0x0d;
export const LF = 0x0a;
export const SPACE = 0x20;
export const COLON = 0x3a;

/**
 * Bit that distinguishes lower-case from upper-case letters. A bitwise OR with this bit converts a letter to lower
 * case, and leaves a dash unchanged.
 */
export const LETTER_CASE = 0x20;
const NAME = 1;
const VALUE = 2;
const TARGET = 4;
const CLASSES = classes();

function classes(): Uint8Array {
  const table = new Uint8Array(256);
  for (let code = 0; code < table.length; code++) {
    const character = String.fromCharCode(code);
    if (/[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(character)) table[code] = NAME;
    // Tab, space and visible characters. obs-text (0x80 to 0xFF) is passed on unchanged.
    if (/[\t\x20-\x7e\x80-\xff]/.test(character)) table[code] = (table[code] ?? 0) | VALUE;
    // Characters of RFC 3986, and the characters that browsers do not encode in a query. Route matching checks paths
    // more strictly.
    if (/[A-Za-z0-9._~!$&'()*+,;=:@/?%[\]\\^`{|}-]/.test(character)) table[code] = (table[code] ?? 0) | TARGET;
  }
  return table;
}

/** Reports whether a byte is allowed in a token, such as a field name or a method. */
export function isNameByte(byte: number | undefined): boolean {
  return byte !== undefined && ((CLASSES[byte] as number) & NAME) !== 0;
}

/** Returns the end offset of the field name that begins at `at`. The result is at most `to`. */
export function nameEnd(bytes: Uint8Array, at: number, to: number): number {
  let end = at;
  while (end < to && ((CLASSES[bytes[end] as number] as number) & NAME) !== 0) end++;
  return end;
}

/** Returns the end offset of the field value or reason phrase that begins at `at`. The result is at most `to`. */
export function valueEnd(bytes: Uint8Array, at: number, to: number): number {
  let end = at;
  while (end < to && ((CLASSES[bytes[end] as number] as number) & VALUE) !== 0) end++;
  return end;
}

/** Returns the end offset of the request target that begins at `at`. The result is at most `to`. */
export function targetEnd(bytes: Uint8Array, at: number, to: number): number {
  let end = at;
  while (end < to && ((CLASSES[bytes[end] as number] as number) & TARGET) !== 0) end++;
  return end;
}

/** Reports whether `bytes` contains all of `expected` between the offsets `at` and `to`, starting at `at`. */
export function matchesAt(bytes: Uint8Array, at: number, to: number, expected: Uint8Array): boolean {
  if (to - at < expected.length) return false;
  for (let index = 0; index < expected.length; index++) if (bytes[at + index] !== expected[index]) return false;
  return true;
}

/**
 * Reports whether the field name at `at` equals `lower`, ignoring case.
 * @param at start of a valid name of the same length as `lower`.
 * @param lower the name in lower case.
 */
export function isName(bytes: Uint8Array, at: number, lower: Uint8Array): boolean {
  for (let index = 0; index < lower.length; index++) {
    if (((bytes[at + index] as number) | LETTER_CASE) !== lower[index]) return false;
  }
  return true;
}
