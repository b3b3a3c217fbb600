/**
 * Requests wait no longer than the deadline while Redis is frozen (SIGSTOP), at 500 requests a second on two gateways.
 */
import { expect, it } from '@jest/globals';
import { describeWithOwnRedis } from '../support/describe-with.js';
import { DEADLINE_MS, freezeRedis, OPEN_AFTER_MS } from '../support/frozen-redis.js';
import { quantile, type Sample } from '../support/steady-load.js';

const PER_SECOND = 500;
const FROZEN_MS = 3_000;
const SETTINGS = { perSecond: PER_SECOND, beforeMs: 1_000, frozenMs: FROZEN_MS, tightLimit: 200 };

describeWithOwnRedis('a Redis frozen under load', () => {
  it('adds less than the deadline at p99 once the breaker is open, and at most 300 ms to the longest', async () => {
    const { load, stoppedAtMs, goesOnAtMs, whileOpen, stop } = await freezeRedis(SETTINGS);
    await stop();
    const took = (samples: readonly Sample[]) => samples.map(({ tookMs }) => tookMs);
    const control = took(whileOpen('control'));
    const limited = took(whileOpen().filter(({ name }) => name !== 'control'));
    expect(limited.length).toBeGreaterThan(((FROZEN_MS - OPEN_AFTER_MS) / 1_000) * PER_SECOND * 0.7);
    expect(quantile(limited, 0.99) - quantile(control, 0.99)).toBeLessThan(DEADLINE_MS);
    const [longest, longestOfControl] = [undefined, 'control'].map((name) =>
      Math.max(...took(load.between(stoppedAtMs - 100, goesOnAtMs, name))),
    );
    expect(longest).toBeLessThan(longestOfControl! + 300);
  });
});
