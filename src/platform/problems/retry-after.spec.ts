/** `Retry-After` in refusals of the gateway, and parsing of the value that a backend sends. */
import { expect, it } from '@jest/globals';
import { LONGEST_WAIT_MS, retryFields, waitSecondsOf } from './retry-after.js';

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
])('%p gives no wait time', (field) => {
  expect(waitSecondsOf(field, DATE)).toBeUndefined();
});

it('a date is relative to the Date field of the sender, and ignored without it', () => {
  expect(waitSecondsOf('Thu, 01 Jan 1970 00:00:30 GMT', 'Thu, 01 Jan 1970 00:00:00 GMT')).toBe(30);
  expect(waitSecondsOf('Fri, 20 Nov 2026 10:02:00 GMT', undefined)).toBeUndefined();
});

it.each([
  [0, 1, 3],
  [-5, 1, 3],
  [1_000, 1, 3],
  [1_001, 2, 4],
  [8_000, 8, 10],
  [40_000, 40, 49],
  // Asked for more than a minute, some SDKs wait for less than a second.
  [55_000, 55, 60],
  [60_000, 60, 60],
  [61_000, 61, 76],
  [3_600_000, 3_600, 3_600],
])('if a retry is useless for %i ms, Retry-After is %i to %i seconds', (knownMs, least, most) => {
  expect(retryFields(knownMs, 0)).toEqual(['Retry-After', String(least), 'X-Should-Retry', 'true']);
  expect(retryFields(knownMs, 0.999_999)).toEqual(['Retry-After', String(most), 'X-Should-Retry', 'true']);
});

it('if a retry is useless for more than an hour, X-Should-Retry is false', () => {
  expect(retryFields(3_600_001)).toEqual(['X-Should-Retry', 'false']);
});

it('LONGEST_WAIT_MS is one hour', () => {
  expect(LONGEST_WAIT_MS).toBe(3_600_000);
});
