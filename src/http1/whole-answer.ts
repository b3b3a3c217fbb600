/** The head of an answer that is written by hand: of small ones whose body is there. */
import { STATUS_CODES } from 'node:http';
import { systemClock } from '../clock.js';

const statusLines: string[] = [];
let dateText = '';
let dateSecond = 0;

/**
 * Status line and fields (RFC 9112 sections 4 and 5), and the empty line. Node's `writeHead` would look at every name and value once
 * more and compare each with seven names.
 * @param lines the fields, each with its CRLF, of which every byte has been looked at; `Date` among them.
 * @param connectionLines how the connection goes on, likewise.
 */
export function wholeHead(status: number, lines: string, connectionLines: string): string {
  return `${(statusLines[status] ??= statusLine(status))}${lines}${connectionLines}\r\n`;
}

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
}

/** `Date` as a line with its CRLF: IMF-fixdate (RFC 9110 section 5.6.7), made once a second. */
export function dateLine(): string {
  const second = Math.floor(systemClock.now() / 1_000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = `Date: ${new Date(second * 1_000).toUTCString()}\r\n`;
  }
  return dateText;
}
