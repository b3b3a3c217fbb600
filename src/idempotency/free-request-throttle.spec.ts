/** Throttle for requests that use no quota, per API key and minute. */
import { expect, it } from '@jest/globals';
import { TestClock } from '../../test/support/stores.js';
import { THROTTLES } from '../quota/model/throttle-rows.js';
import { FreeRequestThrottle } from './free-request-throttle.js';

it('allows the limit per minute, and returns the time until the next request', () => {
  const clock = new TestClock();
  const free = new FreeRequestThrottle(clock);
  for (let count = 0; count < THROTTLES.freeRequests.limit; count++) {
    expect(free.waitMs('key_1')).toBe(0);
    free.add('key_1');
  }
  const waitMs = free.waitMs('key_1');
  expect(waitMs).toBeGreaterThan(58_000);
  expect(waitMs).toBeLessThanOrEqual(60_000);
  expect(free.waitMs('key_2')).toBe(0);
  clock.advance(30_000);
  expect(free.waitMs('key_1')).toBeGreaterThan(0);
  clock.advance(32_000);
  expect(free.waitMs('key_1')).toBe(0);
});

it.each([-3_600_000, -1_000, 1_000, 86_400_000])(
  'never asks for more than a minute when the clock jumps by %d ms',
  (ms) => {
    const clock = new TestClock();
    const free = new FreeRequestThrottle(clock);
    for (let count = 0; count < THROTTLES.freeRequests.limit; count++) free.add('key_1');
    clock.advance(ms);
    expect(free.waitMs('key_1')).toBeLessThanOrEqual(60_000);
  },
);
