/** The bodies of attempts in progress stay within their limit, and no lane waits forever. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { AttemptMade } from '../sending/attempt.js';
import { AttemptSlots } from './attempt-slots.js';
import { Delivery } from './delivery.js';
import { EndpointKeys } from './endpoint-keys.js';
import { HeldLanes } from './lease.js';
import type { DueDelivery } from './rows/due-deliveries.js';
import type { LaneEndpoint } from './rows/lanes.js';
import { WORKER_TIMES } from './worker-times.js';

const MAKE_ROOM_INTERVAL_MS = 10;
/** Room for three bodies of 1,000 bytes, and for one of a slow receiver. */
const BOUNDS = { mostQuick: 4, mostSlow: 2, mostSlowInTotal: 5, mostBytes: 4_000, mostSlowBytes: 1_500 };

const clock = { now: () => 0 };
const keys = new EndpointKeys(async (ids) => ids.map(() => ({ secrets: [], privateKeys: [] })), clock);

let held: HeldLanes;
let delivery: Delivery;
let nowMs: number;
let begun: string[];
let ends: Map<string, (durationMs?: number) => void>;
let due: Map<string, DueDelivery[]>;

beforeEach(() => {
  nowMs = 0;
  begun = [];
  ends = new Map();
  due = new Map();
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
    slots: new AttemptSlots(BOUNDS, () => nowMs),
    due: { readPage: async ({ id }) => ({ due: due.get(id)?.splice(0) ?? [], hasMore: false }) },
    keys,
    attempts: {
      attempt: ({ delivery: { id } }) => {
        begun.push(id);
        return new Promise<AttemptMade>((resolve) => ends.set(id, (durationMs = 1) => resolve(made(durationMs))));
      },
    },
    results: { isStuck: false, record: async () => ({ state: 'succeeded' }) },
    clock,
    log: pino({ level: 'silent' }),
    times: { ...WORKER_TIMES, makeRoomMs: MAKE_ROOM_INTERVAL_MS },
  });
});

afterEach(() => held.dropAll());

const made = (durationMs: number): AttemptMade => ({
  outcome: 'succeeded',
  atMs: 0,
  durationMs,
  statusCode: 204,
  error: null,
  address: null,
  responseBody: null,
});

/** Adds due deliveries of an endpoint, named after it and numbered. IDs that begin with `new` have no history. */
async function addDue(id: string, ...dataBytes: number[]): Promise<void> {
  const usual = { endpointId: id, endpointVersion: 1 };
  const rows = dataBytes.map((bytes, at) => ({ id: `${id}${at}`, ...usual, dataBytes: bytes }) as DueDelivery);
  due.set(id, rows);
  if (held.get(id) === undefined) {
    const latestSucceeded = !id.startsWith('new');
    const rest = { isEnabled: true, version: 1, url: '', concurrency: null, ratePerSecond: null };
    held.addLane({ id, latestSucceeded: latestSucceeded, ...rest } as LaneEndpoint);
  }
  delivery.requestRead(held.get(id)!);
  await quiet();
}

async function end(id: string, durationMs?: number): Promise<void> {
  ends.get(id)?.(durationMs);
  await quiet();
}

/** Waits until all turns and promises are done. */
async function quiet(): Promise<void> {
  for (let count = 0; count < 5; count++) await new Promise((resolve) => setImmediate(resolve));
}

it('attempts start only while their bodies fit, and the next one when there is room again', async () => {
  for (const id of ['a', 'b', 'c', 'd']) await addDue(id, 1_000);
  expect(begun).toEqual(['a0', 'b0', 'c0']);
  await end('b0');
  expect(begun).toEqual(['a0', 'b0', 'c0', 'd0']);
});

it('small bodies do not overtake a waiting large body forever: first come, first served', async () => {
  await addDue('a', 1_000);
  await addDue('b', 1_000);
  await addDue('large', 3_000);
  // These would fit again and again.
  await addDue('c', 10, 10, 10);
  expect(begun).toEqual(['a0', 'b0']);
  await end('a0');
  expect(begun).toEqual(['a0', 'b0']);
  await end('b0');
  expect(begun).toEqual(['a0', 'b0', 'large0', 'c0']);
});

it('a body larger than the limit is sent alone', async () => {
  await addDue('a', 1_000);
  await addDue('large', 1_000_000);
  await addDue('b', 1_000);
  expect(begun).toEqual(['a0']);
  await end('a0');
  expect(begun).toEqual(['a0', 'large0']);
  await end('large0');
  expect(begun).toEqual(['a0', 'large0', 'b0']);
});

it('an endpoint with many deliveries takes turns with others that wait', async () => {
  await addDue('many', 3_000, 3_000, 3_000);
  await addDue('a', 3_000);
  await addDue('b', 3_000);
  for (const id of ['many0', 'a0', 'b0', 'many1']) await end(id);
  expect(begun).toEqual(['many0', 'a0', 'b0', 'many1', 'many2']);
});

it('large bodies of slow receivers and bodies of quick ones do not delay each other', async () => {
  await addDue('slow', 10);
  await addDue('late', 10);
  await end('slow0', 15_000);
  await end('late0', 15_000);
  for (const id of ['slow', 'late']) await addDue(id, 1_000);
  for (const id of ['a', 'b', 'c', 'd']) await addDue(id, 1_000);
  expect(begun.slice(2)).toEqual(['slow0', 'a0', 'b0', 'c0']);
  await end('slow0', 15_000);
  expect(begun.slice(6)).toEqual(['late0']);
});

it('a lane that is dropped while it waits for room does not block others', async () => {
  await addDue('a', 1_000);
  await addDue('large', 4_000);
  await addDue('b', 1_000);
  held.dropLane('large');
  await end('a0');
  expect(begun).toEqual(['a0', 'b0']);
});

it('unknown endpoints share the slow slots until their first quick attempt', async () => {
  for (const id of ['new1', 'new2', 'new3']) await addDue(id, 10, 10);
  await addDue('a', 10);
  expect(begun).toEqual(['new10', 'new20', 'a0']);
  await end('new10');
  expect(begun.slice(3)).toEqual(['new30', 'new11']);
});

it('quick endpoints that all hang delay the others for two seconds at most', async () => {
  for (const id of ['a', 'b', 'c', 'd', 'e']) await addDue(id, 10);
  expect(begun).toEqual(['a0', 'b0', 'c0', 'd0']);
  nowMs = 1_999;
  await sleep(3 * MAKE_ROOM_INTERVAL_MS);
  expect(begun).toHaveLength(4);
  nowMs = 2_000;
  await sleep(3 * MAKE_ROOM_INTERVAL_MS);
  expect(begun.slice(4)).toEqual(['e0']);
  // Attempts that became slow occupy slow slots.
  await addDue('new', 10);
  expect(begun).toHaveLength(5);
  for (const id of ['a0', 'b0', 'c0']) await end(id);
  expect(begun.slice(5)).toEqual(['new0']);
});

it('attempts never exceed the number of slots, however many hang', async () => {
  for (let count = 0; count < 20; count++) await addDue(`lane ${count}`, 10);
  for (nowMs = 2_000; nowMs < 20_000; nowMs += 2_000) await sleep(3 * MAKE_ROOM_INTERVAL_MS);
  expect(begun).toHaveLength(BOUNDS.mostQuick + BOUNDS.mostSlowInTotal);
});
