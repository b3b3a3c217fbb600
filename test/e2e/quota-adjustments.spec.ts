/**
 * Changes of plans and key limits, and the adjustments grant, set and reset, apply on every gateway in under a second.
 * Tested on the embedded store, and on two gateways that share Redis and PostgreSQL.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent } from 'node:http';
import type { Account, ApiKeyWithSecret, QuotaAdjustment } from '../support/admin.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithOwnRedisAndPostgres } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { policiesOf } from '../support/rate-limit.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { startNodes } from '../support/worlds.js';

const SOON_MS = 1_000;
const config = {
  plans: { ten: { account: { month: 10 } }, three: { account: { month: 3 } }, keyed: { key: { month: 5 } } },
  usage: { flushInterval: '200ms' },
};

let backend: Backend;
const agent = new Agent({ keepAlive: true });
beforeAll(async () => {
  backend = await startBackend(json({ data: [] }));
});
afterAll(async () => {
  agent.destroy();
  await backend.stop();
});

function suite(gateways: () => readonly RunningTrailgate[]): void {
  let account: Account;
  let key: ApiKeyWithSecret;
  let turn = 0;
  const admin = () => gateways()[0]!.admin;
  const callOn = (running: RunningTrailgate, path = '/customers') =>
    send(`${running.gatewayUrl}/api/v1${path}`, { agent, headers: { Authorization: `Bearer ${key.secret}` } });
  /** Sends each request to the next gateway in turn. */
  const call = () => callOn(gateways()[turn++ % gateways().length]!);
  const calls = async (count: number): Promise<number[]> => {
    const statuses: number[] = [];
    for (let each = 0; each < count; each++) statuses.push((await call()).status);
    return statuses;
  };
  const adjust = (input: Omit<QuotaAdjustment, 'window' | 'reason'>) =>
    admin().adjustQuota(account.id, { window: 'month', reason: 'test', ...input });
  const make = async (plan: string) => ({ account, key } = await admin().newKey(plan));
  const policy = (answer: Answer, name: string) => policiesOf(answer).find((each) => each.name === name);
  /** Expects every gateway to report a change within a second, and to keep reporting it. `/usage` costs nothing. */
  async function inForce(isReported: (answer: Answer) => boolean): Promise<void> {
    const startedMs = performance.now();
    for (const running of gateways()) {
      await eventually('the change applies', async () => isReported(await callOn(running, '/usage')), SOON_MS);
    }
    expect(quietMsSince(startedMs)).toBeLessThan(SOON_MS);
    for (const running of gateways()) expect(isReported(await callOn(running, '/usage'))).toBe(true);
  }
  const expectLeft = (left: number, name = 'account-month') => inForce((answer) => policy(answer, name)?.r === left);

  it('admit more requests at once after a grant, on top of the limit and of earlier grants', async () => {
    await make('ten');
    expect(await calls(12)).toEqual([...Array(10).fill(200), 429, 429]);
    await adjust({ type: 'grant', amount: 2 });
    await expectLeft(2);
    await adjust({ type: 'grant', amount: 1 });
    await expectLeft(3);
    expect(await calls(5)).toEqual([200, 200, 200, 429, 429]);
    expect(await admin().usage(account.id)).toMatchObject({ windows: [{ limit: 13, used: 13, remaining: 0 }] });
    expect((await callOn(gateways().at(-1)!, '/usage')).json()).toMatchObject({ windows: [{ limit: 13, used: 13 }] });
  });

  it('leave 0 remaining on a plan below the usage, and keep that usage for the next plan', async () => {
    await make('ten');
    await calls(7);
    await admin().updateAccount(account.id, { plan: 'three' });
    await expectLeft(0);
    for (const running of gateways()) {
      const refused = await callOn(running);
      const { detail } = expectProblem(refused, 'quota_exceeded');
      expect(detail).toMatch(/has used 3 of 3 requests this month/);
      expect([refused.headers['x-ratelimit-remaining'], policy(refused, 'account-month')?.r]).toEqual(['0', 0]);
    }
    expect(await admin().usage(account.id)).toMatchObject({ windows: [{ limit: 3, used: 7, remaining: 0 }] });
    await admin().updateAccount(account.id, { plan: 'ten' });
    await expectLeft(3);
    expect(await calls(4)).toEqual([200, 200, 200, 429]);
  });

  it('replace the usage with reset and set, and count later requests on top of it', async () => {
    await make('ten');
    await calls(11);
    await adjust({ type: 'reset' });
    await expectLeft(10);
    expect(await calls(4)).toEqual([200, 200, 200, 200]);
    await adjust({ type: 'set', amount: 9 });
    await expectLeft(1);
    expect(await calls(2)).toEqual([200, 429]);
    await adjust({ type: 'set', amount: 999_999_999_999_999 });
    await expectLeft(0);
    const window = { used: 999_999_999_999_999, remaining: 0 };
    expect(await admin().usage(account.id)).toMatchObject({ windows: [window] });
  });

  it('apply new limits of a key at once, with a grant for the key on top of them', async () => {
    await make('keyed');
    await calls(4);
    await admin().updateKey(key.id, { limits: { month: 2, minute: 100 } });
    await expectLeft(0, 'key-month');
    expect(await calls(2)).toEqual([429, 429]);
    await adjust({ type: 'grant', amount: 3, api_key_id: key.id });
    await expectLeft(1, 'key-month');
    expect(await calls(2)).toEqual([200, 429]);
    await adjust({ type: 'reset', api_key_id: key.id });
    await expectLeft(5, 'key-month');
    await admin().updateKey(key.id, { limits: null });
    await expectLeft(8, 'key-month');
    await admin().updateKey(key.id, { limits: { month: null } });
    await inForce((answer) => answer.headers['ratelimit'] === undefined);
  });

  it('are recorded in the audit log: grant, reset and limits of a key', async () => {
    await make('ten');
    await adjust({ type: 'grant', amount: 2 });
    await adjust({ type: 'reset' });
    await admin().updateKey(key.id, { limits: { minute: 1 } });
    const { data } = await admin().auditLog(`?account_id=${account.id}&limit=3`);
    expect(data.map(({ action }) => action)).toEqual([
      'api_key.updated',
      'quota_adjustment.created',
      'quota_adjustment.created',
    ]);
  });
}

describe('quota changes on the embedded store', () => {
  let trailgate: RunningTrailgate;
  beforeAll(async () => {
    trailgate = await startTrailgate({ backend: backend.url, config });
  });
  afterAll(() => trailgate.stop());
  suite(() => [trailgate]);

  it('survive a kill -9 right after they were made', async () => {
    const { account, key } = await trailgate.admin.newKey('ten');
    await trailgate.admin.adjustQuota(account.id, { window: 'month', type: 'set', amount: 8, reason: 'r' });
    await trailgate.admin.adjustQuota(account.id, { window: 'month', type: 'grant', amount: 5, reason: 'r' });
    await trailgate.kill9();
    const { dataDir, adminToken } = trailgate;
    trailgate = await startTrailgate({ backend: backend.url, config, dataDir, adminToken });
    const authorization = `Bearer ${key.secret}`;
    const answer = await send(`${trailgate.gatewayUrl}/api/v1/customers`, { agent, headers: { authorization } });
    expect(policiesOf(answer)[0]?.r).toBe(6);
  });
});

describeWithOwnRedisAndPostgres('quota changes on two gateways', () => {
  let redis: RedisServer;
  let database: FreshDatabase;
  let gateways: RunningTrailgate[] = [];
  beforeAll(async () => {
    [redis, database] = await Promise.all([startRedis(), freshDatabase()]);
    const options = { backend: backend.url, config, env: { REDIS_URL: redis.url, DATABASE_URL: database.url } };
    gateways = await startNodes(2, options);
    await eventually('both gateways receive messages of the bus', async () => {
      const texts = await Promise.all(gateways.map(async ({ adminUrl }) => (await send(`${adminUrl}/metrics`)).text));
      return texts.every((text) => text.includes('\ntrailgate_invalidation_bus_up 1\n'));
    });
  });
  afterAll(async () => {
    await Promise.all(gateways.map((each) => each.stop()));
    await Promise.all([redis.stop(), database.drop()]);
  });
  suite(() => gateways);

  it('answer 503 to set and reset while Redis is frozen, without any effect, and accept a grant', async () => {
    const [{ admin, gatewayUrl }] = gateways as [RunningTrailgate];
    const { account, key } = await admin.newKey('ten');
    const call = () => send(`${gatewayUrl}/api/v1/customers`, { headers: { Authorization: `Bearer ${key.secret}` } });
    for (let each = 0; each < 4; each++) expect((await call()).status).toBe(200);
    const path = `/accounts/${account.id}/quota-adjustments`;
    redis.pause();
    try {
      for (const body of [{ type: 'reset' }, { type: 'set', amount: 9 }]) {
        const refused = await admin.request('POST', path, { window: 'month', reason: 'r', ...body });
        expect([refused.status, refused.json()['code']]).toEqual([503, 'quota_unavailable']);
        expect(refused.headers['retry-after']).toBe('1');
      }
      await admin.adjustQuota(account.id, { window: 'month', type: 'grant', amount: 5, reason: 'r' });
    } finally {
      redis.resume();
    }
    await eventually('Redis is back', async () => (await admin.usage(account.id)).windows.length > 0);
    expect(await admin.usage(account.id)).toMatchObject({ windows: [{ limit: 15, used: 4 }] });
    expect(await admin.call('GET', path)).toMatchObject({ data: [{ type: 'grant' }] });
  });
});
