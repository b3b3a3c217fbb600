/** What a backend's `Retry-After` becomes. */
import { expect, it } from '@jest/globals';
import { LONGEST_WAIT_MS, waitSecondsOf } from './retry-after.js';

const DATE = 'Fri, 20 Nov 2026 10:00:00 GMT';

it.each([
  ['0', 0],
  ['7', 7],
  ['2.0', 2],
  ['2.4', 3],
  ['3600', 3_600],
  ['Fri, 20 Nov 2026 10:02:00 GMT', 120],
  ['Fri, 20 Nov 2026 09:00:00 GMT', 0],
])('%s is %d seconds', (field, seconds) => {
  expect(waitSecondsOf(field, DATE)).toBe(seconds);
});

it.each([
  '3601',
  '756000',
  '2147484',
  '99999999999999999999',
  'Sat, 21 Nov 2026 10:00:00 GMT',
  'soon',
  '',
  '-1',
  '1e3',
  '5, 6',
  '2026-11-20T10:02:00Z',
])('%p is not passed on', (field) => {
  expect(waitSecondsOf(field, DATE)).toBeUndefined();
});

it('a date counts from the clock of who sent it, and says nothing without that', () => {
  expect(waitSecondsOf('Thu, 01 Jan 1970 00:00:30 GMT', 'Thu, 01 Jan 1970 00:00:00 GMT')).toBe(30);
  expect(waitSecondsOf('Fri, 20 Nov 2026 10:02:00 GMT', undefined)).toBeUndefined();
});

it('nobody is asked to wait longer than an hour', () => {
  expect(LONGEST_WAIT_MS).toBe(3_600_000);
});
