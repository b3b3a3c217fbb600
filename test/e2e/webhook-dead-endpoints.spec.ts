/**
 * Endpoints that fail in every way beside working ones. The working ones get each event once. The dead ones are left
 * alone after a few attempts. `test/performance` measures their cost in time and memory.
 */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DeadEndpointWorld } from '../support/dead-endpoint-world.js';

const [ACCOUNTS, GOOD, DEAD] = [8, 1, 2];
const PHASE_MS = 4_000;
/** Timeout of a delivery attempt. */
const TIMEOUT = '2s';

let world: DeadEndpointWorld;
let lastedMs: number;
let descriptorsBefore: number;
let mostDescriptors = 0;
const descriptors = () => readdirSync(`/proc/${world.trailgate.pid}/fd`).length;

beforeAll(async () => {
  world = await DeadEndpointWorld.start({ accounts: ACCOUNTS, good: GOOD, dead: DEAD, timeout: TIMEOUT });
  await world.handInFor(1_000);
  descriptorsBefore = descriptors();
  const startMs = performance.now();
  await world.addDead();
  await world.handInFor(PHASE_MS, () => (mostDescriptors = Math.max(mostDescriptors, descriptors())));
  lastedMs = performance.now() - startMs;
});
afterAll(() => world.stop());

describe('dead endpoints of every kind', () => {
  it('prevent no delivery to the other endpoints, and cause no duplicates', () => {
    expect([...world.arrived.values()].filter((count) => count !== GOOD)).toEqual([]);
    expect(world.arrived.size).toBe(world.handedIn);
  });

  it('get one failing attempt at a time, and are left alone after a few', () => {
    // A dead endpoint gets five attempts in a row, and then one after each pause of 1, 2, 4, … seconds.
    const most = 5 + Math.ceil(Math.log2(lastedMs / 1_000 + 1)) + 1;
    const tried = new Map<string, number>();
    for (const line of world.attempts()) {
      expect([line['outcome'], line['delivery']]).not.toContain('succeeded');
      const id = String(line['endpoint_id']);
      tried.set(id, (tried.get(id) ?? 0) + 1);
    }
    expect(tried.size).toBe(world.kinds.size);
    // A redirecting endpoint is reachable, so its failures do not open the circuit breaker.
    const often = [...tried].filter(([id, count]) => world.kinds.get(id) !== 'redirecting' && count > most);
    expect(often).toEqual([]);
    expect(world.mostOpen).toBeLessThanOrEqual(world.kinds.size + 8);
    expect(world.misled).toEqual([]);
  });

  it('use no more file descriptors than their running attempts, and an endless response is cut', () => {
    expect(mostDescriptors).toBeLessThan(descriptorsBefore + world.kinds.size + ACCOUNTS * GOOD + 16);
    expect(world.dead.endless.requests).toBeGreaterThan(0);
    expect(world.dead.endless.bytes / world.dead.endless.requests).toBeLessThan(16 * 1024 * 1024);
  });
});
