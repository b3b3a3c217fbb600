/** The bytes that a head consists of (RFC 9110 section 5.6.2, RFC 9112 section 5). */

export const CR = 0x0d;
export const LF = 0x0a;
export const SPACE = 0x20;
export const COLON = 0x3a;

/** Of a letter in lower case; a dash has it as well. */
export const LETTER_CASE = 0x20;
const NAME = 1;
const VALUE = 2;
const TARGET = 4;
const CLASSES = classes();

function classes(): Uint8Array {
  const of = new Uint8Array(256);
  for (let code = 0; code < of.length; code++) {
    const character = String.fromCharCode(code);
    if (/[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(character)) of[code] = NAME;
    // Tab, and what can be seen; obs-text is passed on as it is.
    if (/[\t\x20-\x7e\x80-\xff]/.test(character)) of[code] = (of[code] ?? 0) | VALUE;
    // The characters of RFC 3986, and those that browsers leave raw in a query; paths are checked when they are matched.
    if (/[A-Za-z0-9._~!$&'()*+,;=:@/?%[\]\\^`{|}-]/.test(character)) of[code] = (of[code] ?? 0) | TARGET;
  }
  return of;
}

/** Whether a name or a method (both are tokens) may have this byte. */
export function isNameByte(byte: number | undefined): boolean {
  return byte !== undefined && ((CLASSES[byte] as number) & NAME) !== 0;
}

/** Where the characters of a name end that begins at `at`; `to` where nothing follows. */
export function nameEnd(bytes: Uint8Array, at: number, to: number): number {
  let end = at;
  while (end < to && ((CLASSES[bytes[end] as number] as number) & NAME) !== 0) end++;
  return end;
}

/** The same of a value, or of a reason. */
export function valueEnd(bytes: Uint8Array, at: number, to: number): number {
  let end = at;
  while (end < to && ((CLASSES[bytes[end] as number] as number) & VALUE) !== 0) end++;
  return end;
}

/** The same of a request target. */
export function targetEnd(bytes: Uint8Array, at: number, to: number): number {
  let end = at;
  while (end < to && ((CLASSES[bytes[end] as number] as number) & TARGET) !== 0) end++;
  return end;
}

/** Whether these bytes stand at `at`. */
export function standsAt(bytes: Uint8Array, at: number, to: number, expected: Uint8Array): boolean {
  if (to - at < expected.length) return false;
  for (let index = 0; index < expected.length; index++) if (bytes[at + index] !== expected[index]) return false;
  return true;
}

/**
 * Whether the name that begins at `at`, of characters of names and as long as `lower`, is this one.
 * @param lower in lower case.
 */
export function isName(bytes: Uint8Array, at: number, lower: Uint8Array): boolean {
  for (let index = 0; index < lower.length; index++) {
    if (((bytes[at + index] as number) | LETTER_CASE) !== lower[index]) return false;
  }
  return true;
}
