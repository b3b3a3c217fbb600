/** kill -9 under load. Usage adds up to the counters, and they include every request that reached the backend. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { migratedDatabase, type TestDatabase } from '../support/database.js';
import { describeOnDatabasesWithRedis } from '../support/describe-with.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { sharedRedisUrl } from '../support/redis.js';
import { SteadyLoad } from '../support/steady-load.js';

const FLUSH_MS = 200;
const PER_SECOND = 150;
/** Additional time of a flush on a busy machine, in milliseconds. */
const SLACK_MS = 600;
const CONFIG = {
  usage: { flushInterval: `${FLUSH_MS}ms` },
  // With `closed`, no request is admitted that Redis could not count, however busy this machine is.
  plans: { month: { key: { month: 500_000 }, account: { month: 1_000_000 }, onRedisLoss: 'closed' } },
};

interface Rows {
  readonly windows: readonly { readonly policy: string; readonly used: number }[];
  readonly data: readonly { readonly outcome: string; readonly cost: number }[];
}

/** Returns the usage of the account by its counters and by its usage rows. */
async function readUsage(admin: RunningTrailgate['admin'], accountId: string, keyId: string) {
  const path = `/accounts/${accountId}/usage?group_by=outcome&api_key_id=${keyId}`;
  const { windows, data } = await admin.call<Rows>('GET', path);
  const used = new Map(windows.map((window) => [window.policy, window.used]));
  const costs = Object.fromEntries(data.map(({ outcome, cost }) => [outcome, cost]));
  const recorded = data.reduce((sum, { cost }) => sum + cost, 0);
  return { account: used.get('account-month') ?? 0, key: used.get('key-month') ?? 0, recorded, costs };
}

let backend: Backend;
beforeEach(async () => {
  backend = await startBackend(json({ ok: true }));
});
afterEach(() => backend.stop());

describe('usage with counters in the process', () => {
  it('equals the counters after a kill -9, and both miss at most one flush interval', async () => {
    let gateway = await startTrailgate({ backend: backend.url, config: CONFIG });
    const { account, key } = await gateway.admin.newKey('month');
    const load = new SteadyLoad([{ name: '', gatewayUrl: gateway.gatewayUrl, secret: key.secret }], PER_SECOND);
    await sleep(1_500);
    const killedAtMs = performance.now();
    await gateway.kill9();
    await load.stop();
    const { dataDir, adminToken } = gateway;
    gateway = await startTrailgate({ backend: backend.url, config: CONFIG, dataDir, adminToken });
    await eventually('no request is in flight', async () => {
      const { costs } = await readUsage(gateway.admin, account.id, key.id);
      return !('in_flight' in costs);
    });
    const after = await readUsage(gateway.admin, account.id, key.id);
    expect(after.recorded).toBe(after.account);
    expect(after.recorded).toBe(after.key);
    expect(after.account).toBeLessThanOrEqual(load.samples.length);
    const answered = load.samples.filter(({ status }) => status === 200);
    const safe = answered.filter(({ atMs, tookMs }) => atMs + tookMs < killedAtMs - FLUSH_MS - SLACK_MS).length;
    expect(safe).toBeGreaterThan(30);
    expect(after.account).toBeGreaterThanOrEqual(safe);
    await gateway.stop();
  });
});

describeOnDatabasesWithRedis('usage of two gateways on one Redis', (kind) => {
  let database: TestDatabase | undefined;
  afterEach(() => database?.drop());

  it('becomes what Redis has counted after a kill -9 of one gateway, without another request', async () => {
    database = await migratedDatabase(kind);
    const { databaseUrl } = database.options;
    const env = {
      REDIS_URL: await sharedRedisUrl(),
      ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    };
    const shared = { backend: backend.url, config: CONFIG, env };
    const first = await startTrailgate(shared);
    const second = await startTrailgate({ ...shared, roles: ['gateway'], dataDir: first.dataDir });
    const { account, key } = await first.admin.newKey('month');
    const origins = [first, second].map(({ gatewayUrl }, index) => ({
      name: String(index),
      gatewayUrl,
      secret: key.secret,
    }));
    const load = new SteadyLoad(origins, PER_SECOND);
    await sleep(1_500);
    await second.kill9();
    await sleep(300);
    await load.stop();
    await eventually(
      'usage equals the counters',
      async () => {
        const { recorded, account: used, costs } = await readUsage(first.admin, account.id, key.id);
        return recorded === used && !('in_flight' in costs);
      },
      15_000,
    );
    const after = await readUsage(first.admin, account.id, key.id);
    expect(after.recorded).toBe(after.key);
    expect(after.account).toBeGreaterThanOrEqual(backend.requests.length);
    expect(after.account).toBeLessThanOrEqual(load.samples.length);
    // The usage does not change any more.
    await sleep(4 * FLUSH_MS);
    expect(await readUsage(first.admin, account.id, key.id)).toEqual(after);
    await first.stop();
  });
});
