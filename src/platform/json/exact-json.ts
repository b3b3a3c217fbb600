/**
 * Parses and writes JSON without changing numbers. JavaScript numbers cannot represent 9007199254740993, 1.10 or 1e400
 * as written. Such numbers are parsed as `ExactNumber`, and `JSON.stringify` writes their original digits.
 */

/** ExactNumber is a JSON number that a JavaScript number would change. `JSON.rawJSON` (ECMAScript 2026) creates it. */
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

/** Matches numbers that may need exact digits: long numbers, fractions, exponents and -0. */
const UNUSUAL_NUMBER = /(?:^|["\s]:|[[,\s])-?(?:\d{16}|\d{1,15}[.eE]|0(?<=-0))/;
/** Matches an escaped lone surrogate, an escaped surrogate pair, or an escaped backslash. */
const SURROGATES = /\\\\|\\u[dD][89abAB][\da-fA-F]{2}(?:\\u[dD][c-fC-F][\da-fA-F]{2})?|\\u[dD][c-fC-F][\da-fA-F]{2}/g;
const LENGTH_OF_ESCAPE = 6;
/** Number of digits after the first digit of the largest JavaScript number. */
const MAX_ZEROS = 308;

/**
 * Parses JSON, and keeps the digits of every number.
 * @throws SyntaxError if the text is not valid JSON.
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

/** Returns the nearest JavaScript number, or undefined if the value is not a number. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return isExactNumber(value) ? Number(value.rawJSON) : undefined;
}

/** Returns the digits of a number as it was written. */
export function digitsOf(value: number | ExactNumber): string {
  return typeof value === 'number' ? String(value) : value.rawJSON;
}

/**
 * Replaces exact numbers by the nearest JavaScript numbers, for code that compares and computes. Returns the same value
 * if it contains no exact numbers.
 */
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

/** Reports whether a number is an integer in any notation, such as 1.0, 1e3 or 12345678901234567890. */
export function isWhole(value: number | ExactNumber): boolean {
  return typeof value === 'number' ? Number.isInteger(value) : !canonicalDigits(value.rawJSON).includes('e-');
}

/**
 * Reports whether the sender may have rounded an integer. Returns true for an integer beyond 2^53 that is written as
 * JavaScript would write it, or with a fraction or exponent.
 */
export function mayBeRounded(value: number | ExactNumber): boolean {
  if (!isWhole(value) || Math.abs(Number(digitsOf(value))) <= Number.MAX_SAFE_INTEGER) return false;
  return typeof value === 'number' || /[.eE]/.test(value.rawJSON);
}

/**
 * Formats a number for a URL. Integers in the range of JavaScript numbers become plain digits. Other numbers keep their
 * notation.
 */
export function plainDigits(value: number | ExactNumber): string {
  if (typeof value === 'number') return String(value);
  const [, significant, power] = /^(-?\d+)e(\d+)$/.exec(canonicalDigits(value.rawJSON)) ?? [];
  if (significant === undefined) return value.rawJSON === '-0' ? '0' : value.rawJSON;
  // The digits of 1e999999999 would take a gigabyte.
  if (Number(power) > MAX_ZEROS) return value.rawJSON;
  return significant + '0'.repeat(Number(power));
}

/**
 * Maximum number of characters of an exponent that is converted to a JavaScript number. Exponents up to this length are
 * converted exactly.
 */
const LONGEST_EXPONENT = 15;

/**
 * Returns a canonical form, which is the same for equal numbers. `1.10` and `11e-1` both become `11e-1`. Exponents of
 * more than 15 characters are not changed.
 * @param digits a JSON number
 */
export function canonicalDigits(digits: string): string {
  const [, sign = '', integerPart = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(digits) ?? [];
  const all = `${integerPart}${fraction}`.replace(/^0+/, '');
  const significant = trimZeros(all);
  if (significant === '') return '0';
  const shortest = exponent.replace(/^([+-]?)0+(?=\d)/, '$1').replace('+', '');
  // A longer exponent takes seconds to convert, and such a number cannot be used.
  if (shortest.length > LONGEST_EXPONENT) return `${sign}${significant}e${shortest}`;
  const power = Number(shortest) - fraction.length + all.length - significant.length;
  return `${sign}${significant}e${power}`;
}

/** Removes trailing zeros in linear time. A regular expression would backtrack. */
function trimZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}

/** Reports whether a JSON text may contain an escaped lone surrogate. */
export function mayBeBroken(json: string): boolean {
  return json.includes('\\ud') || json.includes('\\uD');
}

/**
 * Replaces escaped lone surrogates by U+FFFD. Strict parsers, such as those of Python and Rust, would reject the whole
 * text (RFC 8259 section 8.2).
 * @param json JSON without unescaped lone surrogates, such as decoded UTF-8 or the result of `JSON.stringify`
 */
export function toWellFormedJson(json: string): string {
  if (!mayBeBroken(json)) return json;
  return json.replaceAll(SURROGATES, (found) => (found.length === LENGTH_OF_ESCAPE ? '\\ufffd' : found));
}
