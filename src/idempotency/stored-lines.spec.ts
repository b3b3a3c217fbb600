/** Selection of the header lines that are stored. */
import { expect, it } from '@jest/globals';
import { selectStoredLines } from './stored-lines.js';

const linesOf = (...lines: string[]): string => lines.map((line) => `${line}\r\n`).join('');

it('keeps all lines except those of a single response, unchanged and in order', () => {
  const [date, replayed, stored] = [
    'DATE: Fri, 20 Nov 2026 12:00:00 GMT',
    'idempotent-replayed: true',
    'Idempotency-Stored: 1',
  ];
  const [type, one, two, name, other, empty] = [
    'Content-Type: text/plain',
    'Set-Cookie: a=1',
    'set-cookie: b=2; Date: x',
    'X-Name: Z\u00fcrich',
    'X-Date: y',
    'X-Empty:',
  ];
  const kept = selectStoredLines(linesOf(type, date, one, replayed, two, stored, name, other, empty));
  expect(kept).toBe(linesOf(type, one, two, name, other, empty));
  expect(selectStoredLines('')).toBe('');
});
