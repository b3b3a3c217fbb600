/** Reads and converts header fields. The flat form is a list of alternating names and values, with names as sent. */
import { protocolError } from './errors.js';

/** Fields by lower-case name. A repeated field is a list. The object has no prototype, so any name is safe. */
export type FieldsByName = Record<string, string | string[] | undefined>;

/**
 * Valid field lines: no space before the colon, no line folding, no control characters. The expression can match in
 * only one way, so it runs in linear time.
 */
const LINES = /^(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/;
const LENGTH_LINE = /^content-length:[^\n]*\n/im;
const SPACE = 0x20;
const TAB = 0x09;
const ZERO = 0x30;

/**
 * Returns the value of a field, with repeated fields joined as in RFC 9110 section 5.3. Undefined if absent.
 * @param fields in flat form.
 * @param lower the name in lower case.
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

/** Converts fields from flat form. */
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

/** Reports whether a text consists of valid field lines (RFC 9112 section 5), each with its CRLF. */
export function areFieldLines(text: string): boolean {
  return LINES.test(text);
}

/**
 * Returns fields as lines, each with its CRLF.
 * @param fields in flat form: name, value, name, value.
 */
export function linesOf(fields: readonly string[]): string {
  let lines = '';
  for (let index = 0; index < fields.length; index += 2) lines += `${fields[index]}: ${fields[index + 1]}\r\n`;
  return lines;
}

/**
 * Splits field lines, each with its CRLF, into flat form.
 * @throws Error `TRAILGATE_BAD_ANSWER` for invalid lines.
 */
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

/** Returns a range of the text without the spaces and tabs around it. */
export function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

/**
 * Returns the members of a comma-separated list (RFC 9110 section 5.6.1), such as `Connection`. Skips empty members.
 */
export function listMembers(value: string): string[] {
  return value
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
}

/** Returns the members of a case-insensitive list in lower case. */
export function listTokens(value: string): string[] {
  return listMembers(value.toLowerCase());
}

/**
 * Reports whether the value of a `Content-Length` can be forwarded as sent: one space, a number without leading zeros,
 * nothing after it.
 * @param from offset after the colon.
 * @param to offset of the line's CRLF. Only digits and surrounding spaces are in between.
 */
export function isLengthLine(lines: string, from: number, to: number): boolean {
  if (lines.charCodeAt(from) !== SPACE || isSpace(lines.charCodeAt(to - 1))) return false;
  return lines.charCodeAt(from + 1) > ZERO || to - from === 2;
}

/** Removes the `Content-Length` line. The lines must not have more than one. */
export function withoutLength(lines: string): string {
  return lines.replace(LENGTH_LINE, '');
}

/** Removes leading zeros from a number. Some parsers would read the number as octal, or reject it. */
export function withoutLeadingZeros(digits: string): string {
  return digits.replace(/^0+(?=[0-9])/, '');
}

function isSpace(code: number): boolean {
  return code === SPACE || code === TAB;
}
