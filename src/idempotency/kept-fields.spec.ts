/** Which field lines are told again. */
import { expect, it } from '@jest/globals';
import { keptLines } from './kept-fields.js';

it('keeps every line but those of one response, to the letter and in their order', () => {
  const lines =
    'Content-Type: text/plain\r\nDATE: Fri, 20 Nov 2026 12:00:00 GMT\r\nSet-Cookie: a=1\r\n' +
    'idempotent-replayed: true\r\nset-cookie: b=2; Date: x\r\nIdempotency-Stored: false\r\n' +
    'X-Name: Z\u00fcrich\r\nX-Date: y\r\nX-Empty:\r\n';
  expect(keptLines(lines)).toBe(
    'Content-Type: text/plain\r\nSet-Cookie: a=1\r\nset-cookie: b=2; Date: x\r\n' +
      'X-Name: Z\u00fcrich\r\nX-Date: y\r\nX-Empty:\r\n',
  );
  expect(keptLines('')).toBe('');
});
