/** An account gets one notice when its month is nearly used up and one when it is, however many gateways notice. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithPostgres, describeWithRedis } from '../support/describe-with.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate } from '../support/program.js';
import type { Page } from '../support/admin.js';
import { Caller } from '../support/rate-limit.js';
import { sharedRedisUrl } from '../support/redis.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';
import { startNodes } from '../support/worlds.js';

const FLUSH_MS = 100;
const CONFIG = {
  usage: { flushInterval: `${FLUSH_MS}ms` },
  plans: { month: { account: { month: 100 } }, small: { account: { month: 20 } } },
};

interface ThresholdEvent {
  readonly type: string;
  readonly account_id: string;
  readonly data: Record<string, unknown>;
}

let backend: Backend;
beforeAll(async () => {
  backend = await startBackend(json({ ok: true }));
});
afterAll(() => backend.stop());

const eventsOf = async ({ admin }: SharedTrailgate, accountId: string): Promise<readonly ThresholdEvent[]> =>
  (await admin.call<Page<ThresholdEvent>>('GET', `/accounts/${accountId}/events`)).data.filter(
    ({ type }) => type === 'quota.threshold_reached',
  );

/** Waits for `count` notices, and for flushes that could repeat them. Returns their thresholds, oldest first. */
async function noticesOf(gateway: SharedTrailgate, accountId: string, count: number): Promise<unknown[]> {
  await eventually(`there are ${count} notices`, async () => (await eventsOf(gateway, accountId)).length >= count);
  await sleep(3 * FLUSH_MS);
  return (await eventsOf(gateway, accountId)).map(({ data }) => data['threshold_percent']).toReversed();
}

/** Returns the thresholds that the gateways have logged for the account, in ascending order. */
const loggedOf = (gateways: readonly SharedTrailgate[], accountId: string): unknown[] =>
  gateways
    .flatMap((gateway) => gateway.logs())
    .filter((line) => line['event'] === 'quota_threshold_reached' && line['account_id'] === accountId)
    .map((line) => line['percent'])
    .toSorted((one, other) => Number(one) - Number(other));

function describeGateways(start: () => Promise<SharedTrailgate[]>): void {
  let gateways: SharedTrailgate[] = [];
  let first: SharedTrailgate;
  beforeAll(async () => {
    gateways = await start();
    first = gateways[0]!;
  });
  afterAll(() => Promise.all(gateways.map((gateway) => gateway.stop())));

  const useOnAll = async (secret: string, requests: number): Promise<void> => {
    const callers = gateways.map(({ gatewayUrl }) => new Caller(gatewayUrl, secret));
    await Promise.all(callers.map((caller) => caller.burst(requests / gateways.length)));
    for (const caller of callers) caller.close();
  };

  it('are sent once at 80 and once at 100 percent, with times in the account time zone', async () => {
    const account = await first.admin.createAccount({ plan: 'month', time_zone: 'Asia/Kolkata' });
    const key = await first.admin.createKey(account.id);
    await useOnAll(key.secret, 78);
    await sleep(3 * FLUSH_MS);
    expect(await eventsOf(first, account.id)).toEqual([]);
    await useOnAll(key.secret, 10);
    expect(await noticesOf(first, account.id, 1)).toEqual([80]);
    await useOnAll(key.secret, 60);
    expect(await noticesOf(first, account.id, 2)).toEqual([80, 100]);
    expect(loggedOf(gateways, account.id)).toEqual([80, 100]);
    const [reached] = await eventsOf(first, account.id);
    const [window] = (await first.admin.usage(account.id)).windows;
    expect(reached).toMatchObject({
      id: expect.stringMatching(/^evt_/),
      type: 'quota.threshold_reached',
      account_id: account.id,
      data: {
        account_id: account.id,
        api_key_id: null,
        policy: 'account-month',
        limit: 100,
        used: 100,
        period_start: expect.stringMatching(/-01T00:00:00\+05:30$/),
        period_end: window!.resets_at,
        resets_at: window!.resets_at,
      },
      created_at: expect.stringMatching(/\+05:30$/),
    });
  });

  it('are sent once each when the limit falls below the usage', async () => {
    const { account, key } = await first.admin.newKey('month');
    await useOnAll(key.secret, 50);
    await sleep(3 * FLUSH_MS);
    expect(await eventsOf(first, account.id)).toEqual([]);
    await first.admin.updateAccount(account.id, { plan: 'small' });
    await eventually('the plan applies', async () => {
      const caller = new Caller(first.gatewayUrl, key.secret);
      const { status } = await caller.get();
      caller.close();
      return status === 429;
    });
    await useOnAll(key.secret, 10);
    expect(await noticesOf(first, account.id, 2)).toEqual([80, 100]);
    expect(loggedOf(gateways, account.id)).toEqual([80, 100]);
  });
}

describe('quota notices on the embedded stores', () => {
  describeGateways(async () => [await acquireTrailgate({ backend: backend.url, config: CONFIG })]);

  it('are not repeated after a restart', async () => {
    const before = await startTrailgate({ backend: backend.url, config: CONFIG });
    const { account, key } = await before.admin.newKey('month');
    const caller = new Caller(before.gatewayUrl, key.secret);
    await caller.burst(85);
    caller.close();
    // The shutdown writes the notices that are due.
    await before.stop();
    const { dataDir, adminToken } = before;
    const after = await startTrailgate({ backend: backend.url, config: CONFIG, dataDir, adminToken });
    const again = new Caller(after.gatewayUrl, key.secret);
    await again.burst(5);
    expect(await noticesOf(after, account.id, 1)).toEqual([80]);
    again.close();
    await after.stop();
  });
});

describeWithRedis('quota notices on two gateways with Redis and SQLite', () => {
  describeGateways(async () => {
    const shared = { backend: backend.url, config: CONFIG, env: { REDIS_URL: await sharedRedisUrl() } };
    return startNodes(2, shared);
  });
});

describeWithPostgres('quota notices on two gateways with Redis and PostgreSQL', () => {
  let database: FreshDatabase;
  beforeAll(async () => {
    database = await freshDatabase();
  });
  describeGateways(async () => {
    const env = { REDIS_URL: await sharedRedisUrl(), DATABASE_URL: database.url };
    return startNodes(2, { backend: backend.url, config: CONFIG, env });
  });
  afterAll(() => database.drop());
});
