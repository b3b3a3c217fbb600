/** The `Date` field follows its clock. */
import { expect, it } from '@jest/globals';
import { HttpDate } from './http-date.js';

const START_MS = Date.UTC(2026, 10, 22, 10, 0, 0, 999);

it('formats the current second, and changes with it', () => {
  let nowMs = START_MS;
  const date = new HttpDate({ now: () => nowMs });
  const first = date.line;
  expect(first).toBe('Date: Sun, 22 Nov 2026 10:00:00 GMT\r\n');
  nowMs -= 999;
  expect(date.line).toBe(first);
  nowMs += 1_000;
  expect(date.line).toBe('Date: Sun, 22 Nov 2026 10:00:01 GMT\r\n');
});

it('follows a clock that is set back', () => {
  let nowMs = START_MS;
  const date = new HttpDate({ now: () => nowMs });
  expect(date.line).toContain('10:00:00');
  nowMs -= 3_600_000;
  expect(date.line).toBe('Date: Sun, 22 Nov 2026 09:00:00 GMT\r\n');
});
