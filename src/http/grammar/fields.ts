/**
 * Reads and converts header fields. The flat form is a list of names and values in turn, with names as sent. Line form
 * is a text of field lines, each with its CRLF.
 */
import { protocolError } from './errors.js';

/**
 * FieldsByName holds fields by lower-case name. The value of a repeated field is a list. The object has no prototype,
 * so that any name is safe.
 */
export type FieldsByName = Record<string, string | string[] | undefined>;

/**
 * Matches valid field lines: no space before the colon, no line folding, no control characters. The expression can
 * match in only one way, so it runs in linear time.
 */
const LINES = /^(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/;
const LENGTH_LINE = /^content-length:[^\n]*\n/im;
const SPACE = 0x20;
const TAB = 0x09;
const ZERO = 0x30;

/**
 * Returns the value of a field. Repeated fields are joined as in RFC 9110 section 5.3. Undefined if the field is
 * missing.
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

/** Groups fields in flat form by their lower-case names. */
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

/**
 * Reports whether a text consists only of valid field lines (RFC 9112 section 5), each with its CRLF. True for an empty
 * text.
 */
export function areFieldLines(text: string): boolean {
  return LINES.test(text);
}

/**
 * Converts fields to lines, each with its CRLF. Does not validate the fields.
 * @param fields in flat form: name, value, name, value.
 */
export function linesOf(fields: readonly string[]): string {
  let lines = '';
  for (let index = 0; index < fields.length; index += 2) lines += `${fields[index]}: ${fields[index + 1]}\r\n`;
  return lines;
}

/**
 * Converts field lines, each with its CRLF, to flat form.
 * @throws Error `TRAILGATE_BAD_ANSWER` for invalid lines.
 */
export function fieldsOfLines(text: string): string[] {
  if (!areFieldLines(text)) throw protocolError('field');
  const fields: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\r\n', at);
    const colon = text.indexOf(':', at);
    fields.push(text.slice(at, colon), trimSpaces(text, colon + 1, end));
    at = end + 2;
  }
  return fields;
}

/** Returns the text from `from` to `to`, without leading and trailing spaces and tabs. */
export function trimSpaces(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

/**
 * Returns the members of a comma-separated list, such as `Connection` (RFC 9110 section 5.6.1). Omits empty members.
 */
export function listMembers(value: string): string[] {
  return value
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
}

/** Returns the members of a case-insensitive, comma-separated list in lower case. */
export function listTokens(value: string): string[] {
  return listMembers(value.toLowerCase());
}

/**
 * Reports whether a `Content-Length` line can be forwarded as received. Its value must be one space and a number
 * without leading zeros.
 * @param from offset after the colon.
 * @param to offset of the line's CRLF. The line has only digits and surrounding spaces between the two offsets.
 */
export function isLengthLine(lines: string, from: number, to: number): boolean {
  if (lines.charCodeAt(from) !== SPACE || isSpace(lines.charCodeAt(to - 1))) return false;
  return lines.charCodeAt(from + 1) > ZERO || to - from === 2;
}

/** Removes the `Content-Length` line from field lines, which must not have more than one. */
export function withoutLength(lines: string): string {
  return lines.replace(LENGTH_LINE, '');
}

/** Removes leading zeros from a decimal number. Some parsers would read such a number as octal, or reject it. */
export function withoutLeadingZeros(digits: string): string {
  return digits.replace(/^0+(?=[0-9])/, '');
}

function isSpace(code: number): boolean {
  return code === SPACE || code === TAB;
}
