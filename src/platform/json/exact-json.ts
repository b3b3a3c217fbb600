/**
 * JSON whose numbers keep their digits. A JavaScript number changes 9007199254740993, 1.10 and 1e400; such a number is
 * read as an `ExactNumber`, and `JSON.stringify` writes it with the digits that it came with.
 */

/** A number of a JSON text that a JavaScript number would change. Made by `JSON.rawJSON` (ECMAScript 2026). */
export interface ExactNumber {
  readonly rawJSON: string;
}

declare global {
  interface JSON {
    rawJSON(text: string): ExactNumber;
    isRawJSON(value: unknown): value is ExactNumber;
    parse(
      text: string,
      reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
  }
}

/** Finds a number that may need its digits: a long one, one with a fraction or an exponent, or -0. */
const UNUSUAL_NUMBER = /(?:^|["\s]:|[[,\s])-?(?:\d{16}|\d{1,15}[.eE]|0(?<=-0))/;
/** An escape of half a surrogate pair, or a whole pair, or an escaped backslash. */
const SURROGATES = /\\\\|\\u[dD][89abAB][\da-fA-F]{2}(?:\\u[dD][c-fC-F][\da-fA-F]{2})?|\\u[dD][c-fC-F][\da-fA-F]{2}/g;
const LENGTH_OF_ESCAPE = 6;
/** The largest JavaScript number has this many digits behind its first. */
const MOST_ZEROS = 308;

/**
 * Parses JSON and keeps the digits of each number.
 * @throws SyntaxError where the text is no JSON.
 */
export function parseExact(text: string): unknown {
  return UNUSUAL_NUMBER.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
}

function keepDigits(_name: string, value: unknown, { source }: { readonly source?: string }): unknown {
  return typeof value === 'number' && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value;
}

export function isExactNumber(value: unknown): value is ExactNumber {
  return JSON.isRawJSON(value);
}

/** Returns the nearest JavaScript number; undefined where the value is no number. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return isExactNumber(value) ? Number(value.rawJSON) : undefined;
}

/** Returns the digits of a number as they were written. */
export function digitsOf(value: number | ExactNumber): string {
  return typeof value === 'number' ? String(value) : value.rawJSON;
}

/** Returns the value with JavaScript numbers only, for code that compares and computes; the same value if it has none else. */
export function toPlain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isExactNumber(value)) return Number(value.rawJSON);
  let copy: Record<string, unknown> | undefined;
  const members = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(members)) {
    const plain = toPlain(members[name]);
    if (plain === members[name]) continue;
    copy ??= (Array.isArray(value) ? [...(value as unknown[])] : { ...members }) as Record<string, unknown>;
    copy[name] = plain;
  }
  return copy ?? value;
}

/** Reports whether a number is whole, however it is written: 1.0, 1e3 and 12345678901234567890 are. */
export function isWhole(value: number | ExactNumber): boolean {
  return typeof value === 'number' ? Number.isInteger(value) : !canonicalDigits(value.rawJSON).includes('e-');
}

/**
 * Reports whether a program may have rounded a whole number before it was sent: it is beyond 2^53, and its digits are
 * those that JavaScript writes for a rounded one. A number with other digits was not rounded.
 */
export function mayBeRounded(value: number | ExactNumber): boolean {
  if (!isWhole(value) || Math.abs(Number(digitsOf(value))) <= Number.MAX_SAFE_INTEGER) return false;
  return typeof value === 'number' || /[.eE]/.test(value.rawJSON);
}

/** Writes a number for a URL: a whole one that JavaScript can hold in digits only, any other as it came. */
export function plainDigits(value: number | ExactNumber): string {
  if (typeof value === 'number') return String(value);
  const [, significant, power] = /^(-?\d+)e(\d+)$/.exec(canonicalDigits(value.rawJSON)) ?? [];
  if (significant === undefined) return value.rawJSON === '-0' ? '0' : value.rawJSON;
  // 1e999999999 would take a gigabyte.
  if (Number(power) > MOST_ZEROS) return value.rawJSON;
  return significant + '0'.repeat(Number(power));
}

/**
 * Writes a number in one form: equal numbers have equal texts. `1.10` and `11e-1` are both `11e-1`.
 * @param digits a number of JSON.
 */
export function canonicalDigits(digits: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(digits) ?? [];
  const all = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = trimZeros(all);
  if (significant === '') return '0';
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(all.length - significant.length);
  return `${sign}${significant}e${power}`;
}

/** Cuts zeros off the end, in time that grows with the length only. */
function trimZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}

/** Reports whether a JSON text may have half a surrogate pair in one of its strings or names. */
export function mayBeBroken(json: string): boolean {
  return json.includes('\\ud') || json.includes('\\uD');
}

/**
 * Replaces each half of a surrogate pair by U+FFFD: strict readers, such as those of Python and Rust, refuse the whole
 * text because of one (RFC 8259 section 8.2).
 * @param json a JSON text without unescaped halves, as decoded UTF-8 and the result of `JSON.stringify` are.
 */
export function toWellFormedJson(json: string): string {
  if (!mayBeBroken(json)) return json;
  return json.replaceAll(SURROGATES, (found) => (found.length === LENGTH_OF_ESCAPE ? '\\ufffd' : found));
}
