/** An endpoint that was put to sleep signs with the keys that were opened for it, unless they can be others by now. */
import { beforeEach, expect, it } from '@jest/globals';
import type { LaneEndpoint } from '../deliveries/lane-endpoints.js';
import type { LaneCrew } from './lane.js';
import { LanesHeld } from './lanes-held.js';
import { Places } from './places.js';

let held: LanesHeld;
let opened: number;
let nowMs: number;
let endsAtMs: number | undefined;

beforeEach(() => {
  held = new LanesHeld(new Places());
  opened = 0;
  nowMs = 0;
  endsAtMs = undefined;
});

const crew = {
  mayBegin: () => true,
  wantsTurn: (lane) => held.wantsTurn(lane),
  readDue: async () => ({ due: [], hasMore: false }),
  openKeys: async () => {
    opened += 1;
    // One that has ended is not among them any more.
    return { secrets: [], privateKeys: [], ...(endsAtMs !== undefined && endsAtMs > nowMs && { endsAtMs }) };
  },
  msUntil: (atMs) => Math.max(0, atMs - nowMs),
} as Partial<LaneCrew> as LaneCrew;

/** Takes the lane up, as it is told that there is something to do. */
async function takeUp(version: number): Promise<void> {
  held.add(
    { id: 'a', isEnabled: true, version, url: '', concurrency: null, ratePerSecond: null } as LaneEndpoint,
    crew,
  );
  for (let count = 0; count < 5; count++) await new Promise((resolve) => setImmediate(resolve));
}

/** As the worker looks now and then; taken up where it sleeps. */
async function again(): Promise<void> {
  if (held.get('a') === undefined) return takeUp(1);
  held.get('a')?.told();
  for (let count = 0; count < 5; count++) await new Promise((resolve) => setImmediate(resolve));
}

it('keys are opened once, however often their endpoint is put to sleep', async () => {
  for (let count = 0; count < 3; count++) {
    await takeUp(1);
    held.rest('a');
  }
  expect(opened).toBe(1);
});

it('keys are opened anew where the endpoint has changed meanwhile: its secret may have been rotated', async () => {
  await takeUp(1);
  held.rest('a');
  await takeUp(2);
  expect(opened).toBe(2);
});

it.each([
  ['rest', () => held.rest('a')],
  ['are in use', () => undefined],
])('keys of which one has ended are opened anew, where they %s', async (_where, lay) => {
  endsAtMs = 1_000;
  await takeUp(1);
  lay();
  nowMs = 999;
  await again();
  expect(opened).toBe(1);
  lay();
  nowMs = 1_000;
  await again();
  expect(opened).toBe(2);
});

it('keys of an endpoint that another process has now are not kept', async () => {
  await takeUp(1);
  held.drop('a');
  await takeUp(1);
  expect(opened).toBe(2);
});
