/**
 * The head of an answer that is written by hand: of small ones whose body is there. Node's `writeHead` would look at every name and
 * value once more and compare each with seven names; these come from `answer-head.ts`, which has looked at every byte, and from us.
 */
import { STATUS_CODES } from 'node:http';
import { systemClock } from '../clock.js';

const DATE_NAME = 'date';
let dateText = '';
let dateSecond = 0;

/**
 * Status line and fields (RFC 9112 sections 4 and 5), with a `Date` where there is none, and the empty line.
 * @param connectionLines how the connection goes on, each with its CRLF.
 */
export function wholeHead(status: number, fields: readonly string[], connectionLines: string): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
  let hasDate = false;
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] ?? '';
    if (name.length === DATE_NAME.length && name.toLowerCase() === DATE_NAME) hasDate = true;
    head += `${name}: ${fields[index + 1]}\r\n`;
  }
  if (!hasDate) head += `Date: ${httpDate()}\r\n`;
  return `${head}${connectionLines}\r\n`;
}

/** IMF-fixdate (RFC 9110 section 5.6.7), made once a second. */
function httpDate(): string {
  const second = Math.floor(systemClock.now() / 1_000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(second * 1_000).toUTCString();
  }
  return dateText;
}
