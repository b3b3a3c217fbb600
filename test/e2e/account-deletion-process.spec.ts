/**
 * Account deletion in the running program. Every node refuses its keys, and no database file or Redis key contains its
 * name.
 */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { openDatabase } from '../../src/stores/database/connect.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithOwnRedisAndPostgres } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { eventually, sleep } from '../support/processes.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { filesOf } from '../support/secret-search.js';

const NAME = 'Palmyra Caravans';
const PERSONAL = /palmyra|zenobia|tadmor/i;
const SOON_MS = 1_000;

let backend: Backend;
let running: RunningTrailgate | undefined;
beforeAll(async () => {
  backend = await startBackend(json({ data: [] }));
});
afterAll(() => backend.stop());
afterEach(() => running?.stop());

const call = ({ gatewayUrl }: RunningTrailgate, secret: string, headers: Record<string, string> = {}) =>
  send(`${gatewayUrl}/api/v1/customers`, {
    method: 'idempotency-key' in headers ? 'POST' : 'GET',
    headers: { Authorization: `Bearer ${secret}`, ...headers },
  });

/** Creates an account with a named key and an invitation. */
async function makeAccount({ admin }: RunningTrailgate) {
  const { id } = await admin.createAccount({ name: NAME, plan: 'unlimited' });
  const key = await admin.createKey(id, { name: 'Tadmor gate' });
  await admin.call('POST', `/accounts/${id}/invitations`, { email: 'zenobia@example.com', role: 'viewer' });
  return { id, key };
}

it('deleting an account erases it from the SQLite files, and keeps anonymous usage if configured', async () => {
  running = await startTrailgate({ backend: backend.url, config: { usage: { deletedAccounts: 'anonymous' } } });
  const { dataDir, adminUrl, adminToken } = running;
  const { id, key } = await makeAccount(running);
  expect((await call(running, key.secret)).status).toBe(200);
  expect(filesOf(dataDir)).toMatch(PERSONAL);
  const env = { TRAILGATE_ADMIN_URL: adminUrl, TRAILGATE_ADMIN_TOKEN: adminToken };
  const remove = (name: string) => runTrailgate(['accounts', 'delete', id, '--name', name], { env });
  expect((await remove('Palmyra')).stderr).toContain('nothing was deleted');
  expect((await call(running, key.secret)).status).toBe(200);
  expect(await remove(NAME)).toMatchObject({ code: 0, stdout: 'deleted\n' });
  expect((await call(running, key.secret)).status).toBe(401);
  expect(filesOf(dataDir)).not.toMatch(PERSONAL);
  await running.stop();
  // The process wrote usage after the deletion. The next run of the worker makes it anonymous.
  running = await startTrailgate({ dataDir, config: { usage: { deletedAccounts: 'anonymous' } } });
  const { db, close } = await openDatabase({ dataDir });
  const usage = db.selectFrom('usage_daily').select(['account_id', 'api_key_id', 'operation', 'requests']);
  const anonymous = { account_id: 'deleted', api_key_id: '', operation: 'listCustomers', requests: 2 };
  await eventually('the usage is anonymous', async () => !JSON.stringify(await usage.execute()).includes(id));
  expect(await usage.execute()).toEqual([anonymous]);
  await close();
});

it('a deletion during which the process is killed has not begun, or is finished at the next start', async () => {
  running = await startTrailgate();
  const { dataDir } = running;
  const outcomes: string[] = [];
  for (const delayMs of [0, 4, 8, 16, 32, 128, 512]) {
    // Only slow machines need the last two delays.
    if (delayMs > 32 && outcomes.includes('deleted')) break;
    const { id } = await makeAccount(running);
    const lost = running.admin.request('DELETE', `/accounts/${id}`, { name: NAME }).catch(() => undefined);
    await sleep(delayMs);
    await running.kill9();
    await lost;
    running = await startTrailgate({ dataDir });
    const { status } = await running.admin.request('GET', `/accounts/${id}`);
    outcomes.push(status === 200 ? 'not begun' : 'deleted');
    // The call fails unless the account still has its name.
    if (status === 200) await running.admin.call('DELETE', `/accounts/${id}`, { name: NAME });
    await eventually('no file contains personal data', async () => !PERSONAL.test(filesOf(dataDir)));
  }
  expect(outcomes).toContain('deleted');
});

describeWithOwnRedisAndPostgres('deleting an account on two nodes', () => {
  let redis: RedisServer;
  let database: FreshDatabase;
  let two: RunningTrailgate | undefined;
  beforeAll(async () => {
    [redis, database] = await Promise.all([startRedis(), freshDatabase()]);
  });
  afterAll(async () => {
    await two?.stop();
    await Promise.all([redis.stop(), database.drop()]);
  });

  it('invalidates its keys on both within a second, and removes its counters and responses from Redis', async () => {
    const options = { backend: backend.url, env: { REDIS_URL: redis.url, DATABASE_URL: database.url } };
    running = await startTrailgate(options);
    two = await startTrailgate({ ...options, roles: ['gateway'] });
    const [one, other] = [running, two];
    const { id, key } = await makeAccount(one);
    const client = new Redis(redis.url);
    const redisKeysOfAccount = async () =>
      (await client.keys('tg:*')).filter((each) => each.includes(id) || each.includes(key.id));
    for (const node of [one, other]) expect((await call(node, key.secret)).status).toBe(200);
    expect((await call(other, key.secret, { 'idempotency-key': 'first-caravan' })).status).toBe(200);
    expect((await redisKeysOfAccount()).map((each) => each.slice(0, 5)).toSorted()).toEqual(
      expect.arrayContaining(['tg:i:', 'tg:q:']),
    );
    await one.admin.call('DELETE', `/accounts/${id}`, { name: NAME });
    for (const node of [one, other]) {
      await eventually('the key is refused', async () => (await call(node, key.secret)).status === 401, SOON_MS);
    }
    expect(await redisKeysOfAccount()).toEqual([]);
    client.disconnect();
  });
});
