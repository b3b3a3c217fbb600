/**
 * Dead endpoints of every kind do not delay deliveries to others, and do not make plain requests more expensive.
 *
 * The suite has 48 endpoints, 32 of them dead. `TRAILGATE_TEST_ENDPOINTS=1000 npm test --
 * test/performance/webhook-dead-endpoints` uses another number, a tenth of them dead, and longer attempts. The figures
 * go to stderr.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DeadEndpointWorld } from '../support/dead-endpoint-world.js';
import { quietMsSince } from '../support/machine-time.js';
import { residentBytes } from '../support/metrics-text.js';
import { PlainBackend } from '../support/plain-load.js';
import { quantile, SteadyLoad } from '../support/steady-load.js';

const FULL = Number(process.env['TRAILGATE_TEST_ENDPOINTS'] ?? 0);
/** Number of endpoints per account. */
const [GOOD, DEAD] = FULL > 0 ? [9, 1] : [2, 4];
const ACCOUNTS = FULL > 0 ? Math.ceil(FULL / (GOOD + DEAD)) : 8;
const [QUIET_MS, LOADED_MS] = FULL > 0 ? [20_000, 60_000] : [4_000, 10_000];
const TIMEOUT = FULL > 0 ? '15s' : '3s';
const REQUESTS_PER_SECOND = 50;

/** Maximum delay of a delivery, without the time that other programs use. */
const MAX_DELAY_MS = 1_000;
const MAX_MORE_BYTES = 64 * 1024 * 1024;
/**
 * Maximum additional share of a core. It covers attempts to dead endpoints until they are disabled, and the
 * measurement.
 */
const MAX_MORE_OF_CORE = 0.15;
const TICKS_PER_SECOND = 100;

interface Phase {
  readonly lateMs: number[];
  readonly statuses: Set<number>;
  readonly ofCore: number;
  readonly mostBytes: number;
}

let backend: PlainBackend;
let world: DeadEndpointWorld;
let load: SteadyLoad;
/** Delays of deliveries since the phase began. */
let delaysMs: number[] = [];
let lateMs: number[] = [];

beforeAll(async () => {
  backend = new PlainBackend();
  const options = { accounts: ACCOUNTS, good: GOOD, dead: DEAD, timeout: TIMEOUT, backend: await backend.start() };
  world = await DeadEndpointWorld.start(options, (sentMs, atMs) => {
    delaysMs.push(atMs - sentMs);
    if (atMs - sentMs > MAX_DELAY_MS) lateMs.push(Math.min(atMs - sentMs, quietMsSince(sentMs)));
  });
  const { admin, gatewayUrl } = world.trailgate;
  const { key } = await admin.newKey();
  load = new SteadyLoad([{ name: 'plain', gatewayUrl, secret: key.secret }], REQUESTS_PER_SECOND);
}, 300_000);
afterAll(async () => {
  await load.stop();
  await world.stop();
  await backend.stop();
});

/** Returns the user and system time of the program, in seconds. */
function cpuSeconds(): number {
  const fields = readFileSync(`/proc/${world.trailgate.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Sends events for the given time, and waits until the good endpoints have received all of them. */
async function phase(what: string, lastsMs: number): Promise<Phase> {
  [delaysMs, lateMs] = [[], []];
  const [startMs, cpuBefore] = [performance.now(), cpuSeconds()];
  let mostBytes = 0;
  await world.handInFor(lastsMs, () => (mostBytes = Math.max(mostBytes, residentBytes(world.trailgate.pid))));
  const endMs = performance.now();
  const ofCore = ((cpuSeconds() - cpuBefore) * 1_000) / (endMs - startMs);
  const samples = load.between(startMs, endMs);
  const requestsMs = samples.map(({ tookMs }) => tookMs);
  const statuses = new Set(samples.map(({ status }) => status));
  const figure = (values: readonly number[], share: number) => quantile(values, share).toFixed(1);
  process.stderr.write(
    `${what}: ${delaysMs.length} deliveries, delay p50 ${figure(delaysMs, 0.5)} ms, p99 ${figure(delaysMs, 0.99)} ms, ` +
      `longest ${figure(delaysMs, 1)} ms; plain requests p50 ${figure(requestsMs, 0.5)} ms, p99 ${figure(requestsMs, 0.99)} ms; ` +
      `${(ofCore * 100).toFixed(1)} % of a core, at most ${Math.round(mostBytes / 2 ** 20)} MiB\n`,
  );
  return { lateMs, statuses, ofCore, mostBytes };
}

describe('dead endpoints of every kind', () => {
  let without: Phase;
  let beside: Phase;

  beforeAll(
    async () => {
      await phase('warming up', FULL > 0 ? 5_000 : 2_000);
      without = await phase('without dead endpoints', QUIET_MS);
      await world.addDead();
      beside = await phase(`with ${world.kinds.size} dead endpoints`, LOADED_MS);
    },
    LOADED_MS + QUIET_MS + 180_000,
  );

  it('do not delay deliveries to others by more than a second', () => {
    expect(beside.lateMs.filter((ms) => ms > MAX_DELAY_MS)).toEqual([]);
  });

  it('need at most 64 MiB more memory', () => {
    expect(beside.mostBytes).toBeLessThan(without.mostBytes + MAX_MORE_BYTES);
  });

  it('cause no failed plain requests, and use at most 15 % of a core more', () => {
    expect(beside.statuses).toEqual(new Set([200]));
    expect(beside.ofCore).toBeLessThan(without.ofCore + MAX_MORE_OF_CORE);
  });
});
