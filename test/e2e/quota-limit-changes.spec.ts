/**
 * Limits change while a hundred clients send requests, and exactly the allowed number is admitted. TRAILGATE_TEST_RUNS
 * sets the number of runs (default 2), and TRAILGATE_TEST_SEED repeats them.
 *
 * An account that requests more than its limit is allowed the highest limit in force so far. A raise admits the
 * difference and no more. A limit below the usage admits nothing, and keeps the usage.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { json, startBackend, type Backend } from '../support/backend.js';
import { Crowd } from '../support/crowd.js';
import { describeWithRedis } from '../support/describe-with.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { Caller, policiesOf } from '../support/rate-limit.js';
import { sharedRedisUrl } from '../support/redis.js';

const RUNS = Number(process.env['TRAILGATE_TEST_RUNS'] ?? 2);
const SEED = Number(process.env['TRAILGATE_TEST_SEED'] ?? Date.now() % 1_000_000);
const CLIENTS = 100;

/** Limits of the plans in ascending order. */
const LIMITS = [60, 150, 260, 380];
const TOP = LIMITS.length - 1;
const GRANT = 30;
const GRANTED = { window: 'month', type: 'grant', amount: GRANT, reason: 'a busy weekend' } as const;
const PLANS = Object.fromEntries(
  LIMITS.flatMap((limit, level) => [
    [`month-${level}`, { account: { month: limit }, onRedisLoss: 'closed' }],
    [`minute-${level}`, { account: { minute: limit }, onRedisLoss: 'closed' }],
  ]),
);

interface Change {
  readonly level: number;
  /** Time that the previous plan stays in force, in milliseconds. */
  readonly afterMs: number;
}

const change = (level: fc.Arbitrary<number>) => fc.record({ level, afterMs: fc.nat(350) });
/**
 * Changes of even and odd runs. Even runs only raise limits, and odd runs change to any plan. Every run then ends with
 * the highest plan.
 */
const CHANGES = [
  fc.tuple(change(fc.constant(1)), change(fc.constant(2))),
  fc.tuple(change(fc.constant(2)), change(fc.nat(1)), change(fc.nat(TOP - 1))),
] as const;

let backend: Backend;
beforeAll(async () => {
  backend = await startBackend(json({ ok: true }));
  process.stderr.write(`limit changes: seed ${SEED}, ${RUNS} runs\n`);
});
afterAll(() => backend.stop());

function suite(start: () => Promise<RunningTrailgate[]>): void {
  let gateways: RunningTrailgate[];
  beforeAll(async () => {
    gateways = await start();
  });
  afterAll(async () => void (await Promise.all(gateways.map((gateway) => gateway.stop()))));

  /**
   * Changes plans under load, and checks after each change. Expects the highest limit to be used up exactly at the end.
   */
  async function play(window: 'month' | 'minute', changes: readonly Change[]): Promise<void> {
    const { admin } = gateways[0]!;
    const { account, key } = await admin.newKey(`${window}-0`);
    const secrets = [key.secret, (await admin.createKey(account.id)).secret];
    backend.requests.length = 0;
    const members = gateways.flatMap(({ gatewayUrl }) => secrets.map((secret) => ({ gatewayUrl, secret })));
    const crowd = new Crowd(members, CLIENTS);
    let [limit = NaN] = LIMITS;
    let highest = limit;
    for (const { level, afterMs } of [...changes, { level: TOP, afterMs: 100 }]) {
      await sleep(afterMs);
      expect(backend.requests.length).toBeLessThanOrEqual(highest);
      const isLower = LIMITS[level]! < limit;
      limit = LIMITS[level]!;
      // A raise can be in force before its response arrives.
      highest = Math.max(highest, limit);
      await admin.updateAccount(account.id, { plan: `${window}-${level}` });
      if (isLower) await expectHeldBelow(limit, secrets[0]!);
    }
    // Adds two grants at the same time. Only monthly limits accept grants.
    const granted = window === 'month' ? 2 * GRANT : 0;
    if (granted > 0) await Promise.all([1, 2].map(() => admin.adjustQuota(account.id, GRANTED)));
    const allowed = highest + granted;
    await eventually('the allowed requests are used up', () => backend.requests.length >= allowed);
    await sleep(300);
    await crowd.stop();
    await expectUsedUp(window, secrets[0]!, crowd, allowed);
    // Lowers the limit once more. The usage stays, and remaining is 0, not negative.
    await admin.updateAccount(account.id, { plan: `${window}-0` });
    const { windows } = await admin.usage(account.id);
    const lowered = { policy: `account-${window}`, limit: LIMITS[0]! + granted, used: allowed, remaining: 0 };
    expect(windows).toMatchObject([lowered]);
  }

  /** Waits until a lowered limit is in force. Expects that no more requests are admitted than it leaves. */
  async function expectHeldBelow(limit: number, secret: string): Promise<void> {
    for (const { gatewayUrl } of gateways) {
      const caller = new Caller(gatewayUrl, secret);
      const inForce = async () => (await caller.get('/usage')).text.includes(`"limit":${limit},`);
      await eventually('the lowered limit applies', inForce);
      caller.close();
    }
    // Lets requests that were admitted just before reach the backend.
    await sleep(250);
    const used = backend.requests.length;
    await sleep(250);
    expect(backend.requests.length).toBeLessThanOrEqual(Math.max(used, limit));
  }

  async function expectUsedUp(window: string, secret: string, crowd: Crowd, allowed: number): Promise<void> {
    // `closed` refuses requests if Redis misses its deadline on a busy machine. If Redis counted them anyway, they are
    // refunded.
    const others = Object.entries(crowd.statuses).filter(([status]) => status !== '429' && status !== '503');
    expect({ arrived: backend.requests.length, others }).toEqual({ arrived: allowed, others: [['200', allowed]] });
    expect(crowd.of(429)).toBeGreaterThan(0);
    for (const { gatewayUrl } of gateways) {
      const caller = new Caller(gatewayUrl, secret);
      expect(await caller.used()).toEqual({ [`account-${window}`]: allowed });
      expect(policiesOf(await caller.get())).toMatchObject([{ name: `account-${window}`, q: allowed, r: 0 }]);
      caller.close();
    }
  }

  it(
    'never admit more than the highest limit so far, keep the usage, and end exactly used up',
    async () => {
      for (let run = 0; run < RUNS; run++) {
        const [changes = []] = fc.sample<readonly Change[]>(CHANGES[run % 2]!, { numRuns: 1, seed: SEED + run });
        await play(run % 4 < 2 ? 'month' : 'minute', changes);
      }
    },
    30_000 + RUNS * 10_000,
  );
}

describe('limits that change under load on one process with its own counters', () => {
  suite(async () => [await startTrailgate({ backend: backend.url, config: { plans: PLANS } })]);
});

describeWithRedis('limits that change under load on two gateways with one Redis', () => {
  suite(async () => {
    const shared = { backend: backend.url, config: { plans: PLANS }, env: { REDIS_URL: await sharedRedisUrl() } };
    const first = await startTrailgate(shared);
    return [first, await startTrailgate({ ...shared, roles: ['gateway'], dataDir: first.dataDir })];
  });
});
