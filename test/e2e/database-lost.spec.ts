/** PostgreSQL goes down. Cached keys keep working, no valid key is refused as invalid, and everything recovers. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createSecret } from '../../src/keys/api-key-format.js';
import type { Account, ApiKeyWithSecret } from '../support/admin.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithOwnPostgres } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { seriesOf } from '../support/metrics-text.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

/** Time after which a cached key is checked again without Redis, in milliseconds. It is longer with the message bus. */
const RECHECK_MS = 10_000;

describeWithOwnPostgres('while PostgreSQL is down', () => {
  let backend: Backend;
  let postgres: PostgresServer;
  let gateway: RunningTrailgate;
  let account: Account;
  let known: ApiKeyWithSecret;
  let uncached: ApiKeyWithSecret;
  let knownSinceMs: number;

  beforeAll(async () => {
    [backend, postgres] = await Promise.all([startBackend(json({ data: [] })), startPostgres()]);
    const DATABASE_URL = await postgres.createDatabase('trailgate');
    gateway = await startTrailgate({
      backend: backend.url,
      env: { DATABASE_URL },
      config: { usage: { flushInterval: '1s' } },
    });
    ({ account, key: known } = await gateway.admin.newKey('pro'));
    uncached = await gateway.admin.createKey(account.id);
    await call(known.secret);
    knownSinceMs = Date.now();
    await postgres.kill9();
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all([backend.stop(), postgres.stop()]);
  });

  const call = (secret: string, path = '/customers') =>
    send(`${gateway.gatewayUrl}/api/v1${path}`, { headers: { Authorization: `Bearer ${secret}` } });

  it('a cached key keeps working', async () => {
    for (let round = 0; round < 20; round++) expect((await call(known.secret)).status).toBe(200);
    expect((await call(known.secret, '/usage')).status).toBe(200);
  });

  it('a key that is not cached is 503 authentication_unavailable, valid or not', async () => {
    const answer = await call(uncached.secret);
    expectProblem(answer, 'authentication_unavailable');
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(answer.headers).not.toHaveProperty('www-authenticate');
    expectProblem(await call(createSecret('live')), 'authentication_unavailable');
  });

  it('a key with a wrong checksum is still 401', async () => {
    expectProblem(await call('tg_live_junk'), 'invalid_api_key');
  });

  it('the admin API answers 503 database_unavailable within 5 seconds', async () => {
    const startedMs = performance.now();
    const answer = await gateway.admin.request('DELETE', `/api-keys/${known.id}`);
    expectProblem(answer, 'database_unavailable');
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(quietMsSince(startedMs)).toBeLessThan(5_000);
    expectProblem(await gateway.admin.request('POST', '/accounts', { name: 'a', plan: 'pro' }), 'database_unavailable');
    expectProblem(await gateway.admin.request('GET', `/api-keys/${known.id}`), 'database_unavailable');
  });

  it('the readiness probe warns, and both probes keep the process in service', async () => {
    expect((await send(`${gateway.adminUrl}/livez`)).status).toBe(200);
    // A background check runs every second. The probe reports its result without waiting.
    await eventually('the probe reports the lost database', async () => {
      const { status, text } = await send(`${gateway.adminUrl}/readyz`);
      const ready = JSON.parse(text) as { status: string; checks: { database: { status: string } } };
      expect([status, ready.status]).toEqual([200, 'ready']);
      return ready.checks.database.status === 'warn';
    });
  });

  it('a cached key that is due for a check keeps working, and is counted as stale', async () => {
    await new Promise((done) => setTimeout(done, Math.max(0, knownSinceMs + RECHECK_MS + 200 - Date.now())));
    const waits: number[] = [];
    for (let round = 0; round < 10; round++) {
      const startedMs = performance.now();
      expect((await call(known.secret)).status).toBe(200);
      waits.push(performance.now() - startedMs);
    }
    // Only the first request can wait for a database that does not answer.
    expect(Math.max(...waits.slice(1))).toBeLessThan(500);
    const series = seriesOf((await send(`${gateway.adminUrl}/metrics`)).text);
    expect(series.get('trailgate_key_stale_answers_total')).toBeGreaterThanOrEqual(10);
    expect(series.get('trailgate_usage_flushes_total{outcome="failed"}')).toBeGreaterThan(0);
    expect(series.get('trailgate_usage_flush_lag_seconds')).toBeGreaterThan(1);
  });

  it('usage is counted in memory, and everything works again after a restart without lost counts', async () => {
    await postgres.restart();
    await eventually('the uncached key works', async () => (await call(uncached.secret)).status === 200);
    await eventually('the admin API answers again', async () => {
      return (await gateway.admin.request('GET', `/api-keys/${known.id}`)).status === 200;
    });
    await eventually('the database check passes', async () => {
      const { checks } = (await send(`${gateway.adminUrl}/readyz`)).json<{
        checks: { database: { status: string } };
      }>();
      return checks.database.status === 'pass';
    });
    const served = backend.requests.length;
    await eventually('the counts are written', async () => {
      return seriesOf((await send(`${gateway.adminUrl}/metrics`)).text).get('trailgate_usage_flush_lag_seconds') === 0;
    });
    const month = (await gateway.admin.usage(account.id)).windows.find(({ policy }) => policy === 'account-month');
    expect(month?.used).toBe(served);
    await gateway.admin.revokeKey(known.id);
    expectProblem(await call(known.secret), 'revoked_api_key');
  });
});
