/** The pace of an endpoint follows its limits and the behavior of its receiver. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { AttemptMade } from '../sending/attempt.js';
import { EndpointPace } from './endpoint-pace.js';

let nowMs = 0;
let pace = new EndpointPace(() => nowMs);

beforeEach(() => {
  nowMs = 1_000;
  pace = new EndpointPace(() => nowMs);
});

const made = (more: Partial<AttemptMade> = {}): AttemptMade => ({
  outcome: 'succeeded',
  atMs: 0,
  durationMs: 10,
  statusCode: 200,
  error: null,
  address: null,
  responseBody: null,
  ...more,
});
const failed = (statusCode: number | null, more: Partial<AttemptMade> = {}) =>
  made({ outcome: 'failed', statusCode, error: statusCode === null ? 'response_timeout' : null, ...more });

function attempt(end: AttemptMade): void {
  expect(pace.waitMs(0)).toBe(0);
  pace.recordStart();
  pace.recordResult(end);
}

/** Returns the permitted concurrency. */
function atOnce(): number {
  let count = 0;
  while (pace.waitMs(count) !== Infinity) count += 1;
  return count;
}

describe('a lane', () => {
  it('starts with one attempt at a time, adds one per success, up to the limit of its endpoint', () => {
    pace.setLimits({ concurrency: 3, ratePerSecond: null });
    const seen = [atOnce()];
    for (let count = 0; count < 4; count++) {
      attempt(made());
      seen.push(atOnce());
    }
    expect(seen).toEqual([1, 2, 3, 3, 3]);
  });

  it('halves its concurrency after an attempt without a response', () => {
    for (let count = 0; count < 7; count++) attempt(made());
    attempt(failed(null));
    expect(atOnce()).toBe(4);
  });

  it('stays within the attempts per second of its endpoint', () => {
    pace.setLimits({ concurrency: null, ratePerSecond: 2 });
    attempt(made());
    attempt(made());
    expect(pace.waitMs(0)).toBe(500);
    nowMs += 500;
    attempt(made());
    expect(pace.waitMs(0)).toBe(500);
  });

  it('waits as long as its receiver asks, at most a minute', () => {
    attempt(failed(429, { retryAfterMs: 7_000 }));
    expect(pace.waitMs(0)).toBe(7_000);
    nowMs += 7_000;
    attempt(failed(503, { retryAfterMs: 3_600_000 }));
    expect(pace.waitMs(0)).toBe(60_000);
  });

  it('is slow until its first quick attempt, unless it is known to be quick', () => {
    expect(pace.isSlow).toBe(true);
    pace.assumeQuick();
    expect(pace.isSlow).toBe(false);
    pace.resetState();
    expect(pace.isSlow).toBe(true);
    attempt(made());
    expect(pace.isSlow).toBe(false);
  });

  it('is slow when attempts take over two seconds, and no longer once they are quick', () => {
    pace.assumeQuick();
    attempt(failed(408, { durationMs: 15_000 }));
    expect(pace.isSlow).toBe(true);
    for (let count = 0; count < 8; count++) attempt(made());
    expect(pace.isSlow).toBe(false);
  });
});

describe('a receiver that is down', () => {
  it.each([null, 500, 503, 429])('gets only one probe at a time after five failures in a row (%s)', (status) => {
    for (let count = 0; count < 5; count++) attempt(failed(status));
    expect(pace.isOpen).toBe(true);
    const pauses: number[] = [];
    for (let count = 0; count < 8; count++) {
      pauses.push(pace.waitMs(0));
      nowMs += pace.waitMs(0);
      expect(atOnce()).toBe(1);
      attempt(failed(status));
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    nowMs += 60_000;
    attempt(made());
    expect([pace.isOpen, pace.waitMs(0)]).toEqual([false, 0]);
  });

  it('is probed again if a probe could not be made', () => {
    for (let count = 0; count < 5; count++) attempt(failed(500));
    nowMs += 1_000;
    pace.recordStart();
    pace.recordSkipped(1_000);
    nowMs += 2_000;
    attempt(made());
    expect(pace.isOpen).toBe(false);
  });

  it('is not assumed for responses such as 400, or for a refused address', () => {
    for (let count = 0; count < 10; count++) attempt(failed(400));
    for (let count = 0; count < 10; count++) attempt(failed(null, { error: 'address_refused (private)' }));
    expect(pace.isOpen).toBe(false);
  });

  it('is forgotten after a change of the URL', () => {
    for (let count = 0; count < 5; count++) attempt(failed(500, { durationMs: 5_000 }));
    pace.resetState();
    attempt(made());
    expect([pace.isOpen, pace.isSlow, pace.waitMs(0)]).toEqual([false, false, 0]);
  });
});
