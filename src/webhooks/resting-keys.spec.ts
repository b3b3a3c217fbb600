/** An endpoint that was put to sleep signs with the keys that were opened for it, unless they can be others by now. */
import { beforeEach, expect, it } from '@jest/globals';
import type { LaneEndpoint } from '../events/deliveries/lane-endpoints.js';
import type { LaneCrew } from './lane.js';
import { LanesHeld } from './lanes-held.js';
import { Places } from './places.js';

let held: LanesHeld;
let opened: number;

beforeEach(() => {
  held = new LanesHeld(new Places());
  opened = 0;
});

const crew = {
  mayBegin: () => true,
  wantsTurn: (lane) => held.wantsTurn(lane),
  readDue: async () => ({ due: [], hasMore: false }),
  openKeys: async () => {
    opened += 1;
    return { secrets: [], privateKeys: [] };
  },
} as Partial<LaneCrew> as LaneCrew;

/** Takes the lane up, as it is told that there is something to do. */
async function takeUp(version: number): Promise<void> {
  held.add(
    { id: 'a', isEnabled: true, version, url: '', concurrency: null, ratePerSecond: null } as LaneEndpoint,
    crew,
  );
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

it('keys that rest are forgotten with those in use: one that has ended does not sign for longer', async () => {
  await takeUp(1);
  held.rest('a');
  held.forgetKeys();
  await takeUp(1);
  expect(opened).toBe(2);
});

it('keys of an endpoint that another process has now are not kept', async () => {
  await takeUp(1);
  held.drop('a');
  await takeUp(1);
  expect(opened).toBe(2);
});
