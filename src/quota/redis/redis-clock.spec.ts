/**
 * Tests that the estimate of Redis's clock is right to within a round trip, and robust against slow responses and
 * clocks that are set.
 */
import { describe, expect, it } from '@jest/globals';
import { RedisClock } from './redis-clock.js';

describe('the clock of Redis', () => {
  const AHEAD_MS = 1_000_000;
  const learned = (): RedisClock => {
    const clock = new RedisClock({ now: () => 0 });
    clock.recordTime(AHEAD_MS + 100, 99, 101);
    return clock;
  };

  it('is known to within the round trip of the quickest response', () => {
    expect(Math.abs(learned().instantAfter(200, 50) - (AHEAD_MS + 250))).toBeLessThanOrEqual(2);
  });

  it('is not less accurate after a slow response in either direction', () => {
    const clock = learned();
    clock.recordTime(AHEAD_MS + 210, 200, 700);
    expect(Math.abs(clock.instantAfter(1_000, 0) - (AHEAD_MS + 1_000))).toBeLessThanOrEqual(3);
    clock.recordTime(AHEAD_MS + 1_690, 1_200, 1_700);
    expect(Math.abs(clock.instantAfter(2_000, 0) - (AHEAD_MS + 2_000))).toBeLessThanOrEqual(3);
  });

  it('is learned anew from one response after it was set', () => {
    const clock = learned();
    clock.recordTime(AHEAD_MS + 3_600_000 + 300, 299, 301);
    expect(Math.abs(clock.instantAfter(400, 0) - (AHEAD_MS + 3_600_400))).toBeLessThanOrEqual(2);
    clock.recordTime(AHEAD_MS + 500, 499, 501);
    expect(Math.abs(clock.instantAfter(600, 0) - (AHEAD_MS + 600))).toBeLessThanOrEqual(2);
  });
});
