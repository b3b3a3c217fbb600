/** When deliveries are attempted again. */
import { describe, expect, it } from '@jest/globals';
import { SeededRandom } from '../../../../test/support/seeded-random.js';
import {
  LATEST_RETRY_MS,
  LONGEST_PAUSE_MS,
  LONGEST_SCHEDULE_MS,
  MAX_RETRIES,
  nextAttemptMs,
  SHORTEST_PAUSE_MS,
  USUAL_RETRY_SCHEDULE_MS,
} from './retry-schedule.js';
import { attemptResult, retryAfterMs } from '../../sending/attempt-outcome.js';

const NOW_MS = Date.UTC(2026, 10, 22, 12);
const HOUR_MS = 3_600_000;
const pauseMs = (attempts: number, random: number, asked?: number, scheduleMs = USUAL_RETRY_SCHEDULE_MS) => {
  const atMs = nextAttemptMs({ scheduleMs, attempts, nowMs: NOW_MS, retryAfterMs: asked, random: () => random });
  return atMs === undefined ? undefined : atMs - NOW_MS;
};

describe('the usual schedule', () => {
  it('has ten attempts within about three days, and no eleventh', () => {
    const totals = [0, 0.5, 0.999_999].map((random) => {
      let totalMs = 0;
      for (let attempts = 1; attempts <= 9; attempts++) totalMs += pauseMs(attempts, random) ?? Number.NaN;
      return totalMs / HOUR_MS;
    });
    expect(totals[0]).toBeCloseTo(68.03, 1);
    expect(totals[1]).toBeCloseTo(75 + 35 / 60 + 5 / 3600, 4);
    expect(totals[2]).toBeCloseTo(83.14, 1);
    expect(pauseMs(10, 0.5)).toBeUndefined();
    expect(pauseMs(1_000, 0.5)).toBeUndefined();
  });

  it('spreads deliveries that failed together evenly over a fifth of the pause', () => {
    const random = new SeededRandom(1);
    const pauses = Array.from({ length: 10_000 }, () => pauseMs(2, random.next()) ?? Number.NaN);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(270_000);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(330_000);
    const tenths = Map.groupBy(pauses, (at) => Math.min(9, Math.floor((at - 270_000) / 6_000)));
    expect(tenths.size).toBe(10);
    for (const { length } of tenths.values()) expect(Math.abs(length - 1_000)).toBeLessThan(200);
  });

  it('is within the limits for schedules of endpoints', () => {
    expect(USUAL_RETRY_SCHEDULE_MS.length).toBeLessThanOrEqual(MAX_RETRIES);
    expect(Math.min(...USUAL_RETRY_SCHEDULE_MS)).toBeGreaterThanOrEqual(SHORTEST_PAUSE_MS);
    expect(Math.max(...USUAL_RETRY_SCHEDULE_MS)).toBeLessThanOrEqual(LONGEST_PAUSE_MS);
    expect(USUAL_RETRY_SCHEDULE_MS.reduce((sum, pause) => sum + pause, 0)).toBeLessThanOrEqual(LONGEST_SCHEDULE_MS);
  });
});

describe('a schedule of an endpoint', () => {
  it('replaces the usual one, and may be a single attempt', () => {
    expect(pauseMs(1, 0.5, undefined, [60_000])).toBe(60_000);
    expect(pauseMs(2, 0.5, undefined, [60_000])).toBeUndefined();
    expect(pauseMs(1, 0.5, undefined, [])).toBeUndefined();
  });
});

describe('Retry-After of a receiver', () => {
  it('is the minimum pause, with jitter', () => {
    expect(pauseMs(1, 0, 60_000)).toBe(60_000);
    expect(pauseMs(1, 0.999, 60_000)).toBe(65_994);
  });

  it('does not shorten a pause, nor extend it beyond the longest', () => {
    expect(pauseMs(2, 0.5, 1_000)).toBe(300_000);
    const latest = pauseMs(1, 0.999_999, 365 * 24 * HOUR_MS) ?? Number.NaN;
    expect(latest).toBeGreaterThan(LONGEST_PAUSE_MS);
    expect(latest).toBeLessThanOrEqual(LATEST_RETRY_MS);
  });

  it('adds no attempt to the schedule', () => {
    expect(pauseMs(10, 0.5, 1_000)).toBeUndefined();
  });

  it.each([
    ['0', 0],
    ['120', 120_000],
    [' 7 ', 7_000],
    ['999999999', 999_999_999_000],
    ['Sun, 22 Nov 2026 12:01:00 GMT', 60_000],
    ['Sun, 22 Nov 2026 11:00:00 GMT', 0],
    ['', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['+5', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    ['soon', undefined],
    ['12, 13', undefined],
    ['1234567890', undefined],
    ['2026-11-22T12:01:00Z', undefined],
    ['Sun, 22 Nov 2026 12:01:00 +0000', undefined],
    ['Sun, 99 Nov 2026 12:01:00 GMT', undefined],
  ])('is parsed: %j', (field, expected) => {
    expect(retryAfterMs(field, NOW_MS)).toBe(expected);
  });

  it('may be missing', () => {
    expect(retryAfterMs(undefined, NOW_MS)).toBeUndefined();
  });
});

describe('an attempt', () => {
  it.each([
    [200, 'succeeded'],
    [202, 'succeeded'],
    [204, 'succeeded'],
    [299, 'succeeded'],
    [300, 'failed'],
    [301, 'failed'],
    [304, 'failed'],
    [308, 'failed'],
    [400, 'failed'],
    [401, 'failed'],
    [404, 'failed'],
    [410, 'gone'],
    [429, 'failed'],
    [500, 'failed'],
    [503, 'failed'],
    [599, 'failed'],
  ])('with status %i has %s', (statusCode, outcome) => {
    expect(attemptResult({ statusCode }, NOW_MS).outcome).toBe(outcome);
  });

  it('without a response has failed', () => {
    expect(attemptResult(undefined, NOW_MS)).toEqual({ outcome: 'failed' });
  });

  it('follows Retry-After for 429 and 503 only', () => {
    const asked = (statusCode: number) => attemptResult({ statusCode, retryAfter: '60' }, NOW_MS).retryAfterMs;
    expect([429, 503].map(asked)).toEqual([60_000, 60_000]);
    expect([301, 400, 500, 502, 504].map(asked)).toEqual([undefined, undefined, undefined, undefined, undefined]);
  });

  it('is the last one if the receiver sends Abort-Message, unless it has succeeded', () => {
    const outcomeOf = (statusCode: number) =>
      attemptResult({ statusCode, webhookDelivery: 'Abort-Message' }, NOW_MS).outcome;
    expect([400, 500, 429].map(outcomeOf)).toEqual(['aborted', 'aborted', 'aborted']);
    expect([200, 410].map(outcomeOf)).toEqual(['succeeded', 'gone']);
    expect(attemptResult({ statusCode: 500, webhookDelivery: 'yes' }, NOW_MS).outcome).toBe('failed');
  });
});
