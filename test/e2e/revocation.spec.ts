/**
 * A change to a key or its account applies on every process within a second. While the message bus is down, it takes at
 * most the documented ten seconds. Tests two processes on one Redis and one PostgreSQL.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Agent } from 'node:http';
import type { ErrorCode } from '../../src/platform/problems/errors.js';
import type { Account, ApiKeyWithSecret } from '../support/admin.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithOwnRedisAndPostgres } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { TurnedClock } from '../support/turned-clock.js';

const SOON_MS = 1_000;
/** Documented maximum while the message bus is down. */
const BOUND_MS = 10_000;
/** The shortest overlap of a rotation. */
const OVERLAP_SECONDS = 3_600;

describeWithOwnRedisAndPostgres('two processes', () => {
  let backend: Backend;
  let redis: RedisServer;
  let database: FreshDatabase;
  let one: RunningTrailgate;
  let two: RunningTrailgate;
  let account: Account;
  let key: ApiKeyWithSecret;
  const clock = new TurnedClock();
  const agent = new Agent({ keepAlive: true });

  beforeAll(async () => {
    [backend, redis, database] = await Promise.all([startBackend(json({ data: [] })), startRedis(), freshDatabase()]);
    const env = { ...clock.env, REDIS_URL: redis.url, DATABASE_URL: database.url };
    const options = { backend: backend.url, env };
    one = await startTrailgate(options);
    two = await startTrailgate({ ...options, roles: ['gateway'] });
    await waitForBus();
  });
  afterAll(async () => {
    agent.destroy();
    await Promise.all([one.stop(), two.stop()]);
    await Promise.all([backend.stop(), redis.stop(), database.drop()]);
    clock.close();
  });

  const call = (running: RunningTrailgate, secret = key.secret, path = '/customers') =>
    send(`${running.gatewayUrl}/api/v1${path}`, { agent, headers: { Authorization: `Bearer ${secret}` } });

  /** Creates a key and uses it on both processes, so that both have cached it and rely on the message bus. */
  async function warmKey(plan = 'unlimited'): Promise<void> {
    ({ account, key } = await one.admin.newKey(plan));
    for (const running of [one, two]) expect((await call(running)).status).toBe(200);
  }

  /** Waits until both processes apply a change. Expects that no later response contradicts it. */
  async function inForce(withinMs: number, isInForce: (answer: Answer) => boolean, secret = key.secret): Promise<void> {
    const startedMs = performance.now();
    for (const running of [one, two]) {
      await eventually('the change applies', async () => isInForce(await call(running, secret)), withinMs);
    }
    expect(quietMsSince(startedMs)).toBeLessThan(withinMs);
    for (let round = 0; round < 5; round++) {
      for (const running of [one, two]) expect(isInForce(await call(running, secret))).toBe(true);
    }
  }

  const waitForBus = () =>
    eventually('both processes receive messages of the bus', async () => {
      const texts = await Promise.all([one, two].map(async ({ adminUrl }) => (await send(`${adminUrl}/metrics`)).text));
      return texts.every((text) => text.includes('\ntrailgate_invalidation_bus_up 1\n'));
    });

  const refusedWith = (code: ErrorCode) => (answer: Answer) =>
    answer.status !== 200 && expectProblem(answer, code).code === code;

  it('refuse a revoked key within a second', async () => {
    await warmKey();
    await one.admin.revokeKey(key.id);
    await inForce(SOON_MS, refusedWith('revoked_api_key'));
  });

  it('refuse a paused key within a second, and accept it within a second after it is resumed', async () => {
    await warmKey();
    await one.admin.pauseKey(key.id);
    await inForce(SOON_MS, refusedWith('key_paused'));
    await one.admin.resumeKey(key.id);
    await inForce(SOON_MS, ({ status }) => status === 200);
  });

  it('apply a removed scope and an added scope within a second', async () => {
    await warmKey();
    await one.admin.updateKey(key.id, { scopes: ['files:read'] });
    await inForce(SOON_MS, refusedWith('insufficient_scope'));
    await one.admin.updateKey(key.id, { scopes: ['customers:read'] });
    await inForce(SOON_MS, ({ status }) => status === 200);
  });

  it('apply a changed address list within a second', async () => {
    await warmKey();
    await one.admin.updateKey(key.id, { allowed_ips: ['192.0.2.1'] });
    await inForce(SOON_MS, refusedWith('ip_not_allowed'));
  });

  it('refuse every key of a suspended account within a second, and accept a key after reactivation', async () => {
    await warmKey();
    const other = await one.admin.createKey(account.id);
    for (const running of [one, two]) expect((await call(running, other.secret)).status).toBe(200);
    await one.admin.updateAccount(account.id, { status: 'suspended' });
    await inForce(SOON_MS, refusedWith('account_suspended'));
    await inForce(SOON_MS, refusedWith('account_suspended'), other.secret);
    await one.admin.updateAccount(account.id, { status: 'active' });
    await inForce(SOON_MS, ({ status }) => status === 200);
  });

  it('apply a changed plan within a second, and keep the usage', async () => {
    await warmKey('pro');
    const left = ({ headers }: Answer) => Number(/"account-minute";r=(\d+)/.exec(String(headers['ratelimit']))?.[1]);
    expect(left(await call(two))).toBe(1_197);
    await one.admin.updateAccount(account.id, { plan: 'starter' });
    await inForce(SOON_MS, ({ headers }) => String(headers['ratelimit-policy']).includes('"key-minute";q=60'));
    expect(left(await call(two))).toBeLessThanOrEqual(120 - 4);
  });

  it('refuse the old secret within a second of a rotation without overlap, and accept the new one', async () => {
    await warmKey();
    const rotated = await one.admin.rotateKey(key.id);
    for (const running of [one, two]) expect((await call(running, rotated.secret)).status).toBe(200);
    await inForce(SOON_MS, refusedWith('expired_api_key'));
    for (const running of [one, two]) expect((await call(running, rotated.secret)).status).toBe(200);
  });

  it('accept a new key at once', async () => {
    await warmKey();
    for (let round = 0; round < 5; round++) {
      const made = await one.admin.createKey(account.id);
      expect((await call(two, made.secret)).status).toBe(200);
    }
  });

  it('refuse revoked and paused keys within ten seconds while Redis is down, and within one afterwards', async () => {
    await warmKey();
    const kept = key;
    const next = (await one.admin.newKey()).key;
    const paused = (await one.admin.newKey()).key;
    for (const secret of [next.secret, paused.secret]) {
      for (const running of [one, two]) expect((await call(running, secret)).status).toBe(200);
    }
    await redis.kill9();
    await Promise.all([one.admin.revokeKey(kept.id), one.admin.pauseKey(paused.id)]);
    clock.runAhead(BOUND_MS);
    await Promise.all([
      inForce(SOON_MS, refusedWith('revoked_api_key'), kept.secret),
      inForce(SOON_MS, refusedWith('key_paused'), paused.secret),
    ]);
    await redis.restart();
    await waitForBus();
    await one.admin.revokeKey(next.id);
    await inForce(SOON_MS, refusedWith('revoked_api_key'), next.secret);
  });

  // The last test, because it turns the clock further than any other.
  it('accept both secrets during the overlap of a rotation, and only the new one afterwards', async () => {
    await warmKey();
    const rotated = await one.admin.rotateKey(key.id, OVERLAP_SECONDS);
    expect(rotated.secret).not.toBe(key.secret);
    const statuses = (secret: string) =>
      Promise.all([one, two].map(async (running) => (await call(running, secret)).status));
    expect(await statuses(rotated.secret)).toEqual([200, 200]);
    expect(await statuses(key.secret)).toEqual([200, 200]);
    const endMs = Date.parse((await one.admin.getKey(key.id)).previous_secret_expires_at ?? '');
    clock.stopAt(endMs - 1_000);
    expect(await statuses(key.secret)).toEqual([200, 200]);
    // The API shows whole seconds.
    clock.stopAt(endMs + 1_000);
    await inForce(SOON_MS, refusedWith('expired_api_key'));
    expect(await statuses(rotated.secret)).toEqual([200, 200]);
  });
});
