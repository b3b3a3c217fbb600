/** Gauges of lanes at a scrape, from memory. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { METRICS } from '../../platform/metrics.js';
import type { Lane } from './lane.js';
import { WorkerGauges, type WatchedWorker } from './delivery-gauges.js';

const NOW_MS = 1_800_000_000_000;
const clock = { now: () => NOW_MS };

const lane = (dueSinceMs: number | undefined, how: 'working' | 'breaker_open' | 'unreadable' = 'working') =>
  ({ dueSinceMs, isUnreadable: how === 'unreadable', pace: { isOpen: how === 'breaker_open' } }) as Lane;

function read(worker: Partial<WatchedWorker>, hears?: () => boolean): void {
  const idle = { lanes: [], activeAttempts: 0, unownedDueAtMs: undefined };
  new WorkerGauges({ ...idle, ...worker }, clock, hears).readGauges();
}
const oldestSeconds = () => METRICS.webhookOldestDue.series().value;
const lanes = (state: 'working' | 'breaker_open' | 'unreadable') => METRICS.webhookLanes.series(state).value;

describe('the oldest due delivery', () => {
  beforeEach(() => read({}));

  it('is 0 if nothing waits', () => {
    read({ lanes: [lane(undefined)] });
    expect(oldestSeconds()).toBe(0);
  });

  it('ignores receivers whose breaker is open', () => {
    read({ lanes: [lane(NOW_MS - 4_000), lane(NOW_MS - 9_000, 'breaker_open'), lane(undefined)] });
    expect(oldestSeconds()).toBe(4);
  });

  it('includes deliveries that cannot be signed, or that no worker owns', () => {
    read({ lanes: [lane(NOW_MS - 4_000), lane(NOW_MS - 7_000, 'unreadable')] });
    expect(oldestSeconds()).toBe(7);
    read({ lanes: [lane(NOW_MS - 4_000)], unownedDueAtMs: NOW_MS - 60_000 });
    expect(oldestSeconds()).toBe(60);
  });
});

it('each owned endpoint is counted once by its state, and active attempts are counted', () => {
  read({
    lanes: [lane(1), lane(undefined), lane(1, 'breaker_open'), lane(1, 'unreadable')],
    activeAttempts: 3,
  });
  expect([lanes('working'), lanes('breaker_open'), lanes('unreadable')]).toEqual([2, 1, 1]);
  expect(METRICS.webhookActiveAttempts.series().value).toBe(3);
});

it('a worker with in-process signals shows no listener, and others show whether it works', () => {
  METRICS.webhookListenerUp.show([]);
  read({});
  expect(METRICS.webhookListenerUp.read().series).toEqual([]);
  read({}, () => false);
  expect(METRICS.webhookListenerUp.series().value).toBe(0);
  read({}, () => true);
  expect(METRICS.webhookListenerUp.series().value).toBe(1);
});
