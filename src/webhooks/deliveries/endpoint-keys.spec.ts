/** A released endpoint uses its cached keys, unless they may have changed. */
import { beforeEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { AttemptSlots } from './attempt-slots.js';
import { Delivery } from './delivery.js';
import { EndpointKeys } from './endpoint-keys.js';
import { HeldLanes } from './lease.js';
import type { LaneEndpoint } from './rows/lanes.js';
import { WORKER_TIMES } from './worker-times.js';

let held: HeldLanes;
let delivery: Delivery;
let opened: number;
let nowMs: number;
let endsAtMs: number | undefined;

beforeEach(() => {
  opened = 0;
  nowMs = 0;
  endsAtMs = undefined;
  const clock = { now: () => nowMs };
  const keys = new EndpointKeys(async (ids) => {
    opened += ids.length;
    // An expired key is no longer among them.
    const ends = endsAtMs !== undefined && endsAtMs > nowMs && { endsAtMs };
    return ids.map(() => ({ secrets: [], privateKeys: [], ...ends }));
  }, clock);
  held = new HeldLanes(keys);
  delivery = new Delivery({
    lanes: held,
    leases: {
      areValid: true,
      isEnding: false,
      claimThese: async () => [],
      async *claimDue() {},
      refresh: async () => undefined,
    },
    slots: new AttemptSlots(),
    due: { readPage: async () => ({ due: [], hasMore: false }) },
    keys,
    attempts: { attempt: () => Promise.reject(new Error('nothing is due')) },
    results: { isStuck: false, record: () => Promise.reject(new Error('nothing is due')) },
    clock,
    log: pino({ level: 'silent' }),
    times: WORKER_TIMES,
  });
});

/** Claims the lane, as after a notification. */
async function claimLane(version: number): Promise<void> {
  held.addLane({ id: 'a', isEnabled: true, version, url: '', concurrency: null, ratePerSecond: null } as LaneEndpoint);
  await wake();
}

async function wake(): Promise<void> {
  delivery.requestRead(held.get('a')!);
  for (let count = 0; count < 5; count++) await new Promise((resolve) => setImmediate(resolve));
}

/** Wakes the lane, or claims it again if it was released. */
async function wakeOrClaim(): Promise<void> {
  return held.get('a') === undefined ? claimLane(1) : wake();
}

it('keys are opened once, however often their endpoint is released', async () => {
  for (let count = 0; count < 3; count++) {
    await claimLane(1);
    held.dropIdle('a');
  }
  expect(opened).toBe(1);
});

it('keys are opened again if the endpoint has changed meanwhile', async () => {
  await claimLane(1);
  held.dropIdle('a');
  await claimLane(2);
  expect(opened).toBe(2);
});

it.each([
  ['rest', () => held.dropIdle('a')],
  ['are in use', () => undefined],
])('keys that %s are opened again after one of them has expired', async (_where, release) => {
  endsAtMs = 1_000;
  await claimLane(1);
  release();
  nowMs = 999;
  await wakeOrClaim();
  expect(opened).toBe(1);
  release();
  nowMs = 1_000;
  await wakeOrClaim();
  expect(opened).toBe(2);
});

it('keys of an endpoint that another process owns now are not kept', async () => {
  await claimLane(1);
  held.dropLane('a');
  await claimLane(1);
  expect(opened).toBe(2);
});
