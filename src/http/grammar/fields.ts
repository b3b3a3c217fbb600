/** Fields in their flat form (name, value, name, value; names as they were sent), read for what stands in them. */
import { protocolError } from './errors.js';

/** Fields by name in lower case; several of one name in a list. Names of object members are names like any. */
export type FieldsByName = Record<string, string | string[] | undefined>;

/**
 * Name and colon without space between them, no line that goes on in the next, no byte
 * that is not text. One way to match only.
 */
const LINES = /^(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/;
const LENGTH_LINE = /^content-length:[^\n]*\n/im;
const SPACE = 0x20;
const TAB = 0x09;
const ZERO = 0x30;

/**
 * The values of a name, several joined as RFC 9110 section 5.3 says; undefined: not there.
 * @param lower in lower case.
 */
export function fieldValue(fields: readonly string[], lower: string): string | undefined {
  let value: string | undefined;
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] ?? '';
    if (name.length !== lower.length || name.toLowerCase() !== lower) continue;
    const one = fields[index + 1] ?? '';
    value = value === undefined ? one : `${value}, ${one}`;
  }
  return value;
}

export function fieldsByName(fields: readonly string[]): FieldsByName {
  const byName = Object.create(null) as FieldsByName;
  for (let index = 0; index < fields.length; index += 2) {
    const name = (fields[index] ?? '').toLowerCase();
    const value = fields[index + 1] ?? '';
    const before = byName[name];
    byName[name] = before === undefined ? value : [before, value].flat();
  }
  return byName;
}

/** Whether a text is lines of fields to the letter (RFC 9112 section 5), each with its CRLF. */
export function areFieldLines(text: string): boolean {
  return LINES.test(text);
}

/** Fields as lines, each with its CRLF. @param fields flat: name, value, name, value. */
export function linesOf(fields: readonly string[]): string {
  let lines = '';
  for (let index = 0; index < fields.length; index += 2) lines += `${fields[index]}: ${fields[index + 1]}\r\n`;
  return lines;
}

/** The fields of lines that each end with CRLF. @throws Error `TRAILGATE_BAD_ANSWER`. */
export function fieldsOfLines(text: string): string[] {
  if (!areFieldLines(text)) throw protocolError('field');
  const fields: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\r\n', at);
    const colon = text.indexOf(':', at);
    fields.push(text.slice(at, colon), trimmed(text, colon + 1, end));
    at = end + 2;
  }
  return fields;
}

/** A piece of text without the spaces and tabs around it. */
export function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

/**
 * The members of a list such as `Connection` has (RFC 9110 section 5.6.1), as they
 * were sent; empty ones count for nothing.
 */
export function listMembers(value: string): string[] {
  return value
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
}

/** Likewise members of which case says nothing, in lower case. */
export function listTokens(value: string): string[] {
  return listMembers(value.toLowerCase());
}

/**
 * Whether the value of a `Content-Length` can be passed on as it was sent: one space, a number without
 * zeros in front, and nothing behind it.
 * @param from behind the colon. @param to where the line's CRLF begins; between the
 * two are digits, and spaces around them.
 */
export function isLengthLine(lines: string, from: number, to: number): boolean {
  if (lines.charCodeAt(from) !== SPACE || isSpace(lines.charCodeAt(to - 1))) return false;
  return lines.charCodeAt(from + 1) > ZERO || to - from === 2;
}

/** Field lines without `Content-Length`, of which there is one at most: for a response that must not have it. */
export function withoutLength(lines: string): string {
  return lines.replace(LENGTH_LINE, '');
}

/** A number as everybody reads it: to some readers a zero in front makes it octal, or no number at all. */
export function withoutLeadingZeros(digits: string): string {
  return digits.replace(/^0+(?=[0-9])/, '');
}

function isSpace(code: number): boolean {
  return code === SPACE || code === TAB;
}
