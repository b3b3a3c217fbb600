/** PostgreSQL goes away: known keys go on, nobody is told that a good key is bad, and everything comes back by itself. */
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

/** While the bus is up a key is trusted for longer; ten seconds is what holds without Redis. */
const RECHECK_MS = 10_000;

describeWithOwnPostgres('while the database is away', () => {
  let backend: Backend;
  let postgres: PostgresServer;
  let gateway: RunningTrailgate;
  let account: Account;
  let known: ApiKeyWithSecret;
  let unknownYet: ApiKeyWithSecret;
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
    unknownYet = await gateway.admin.createKey(account.id);
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

  it('a known key goes on', async () => {
    for (let round = 0; round < 20; round++) expect((await call(known.secret)).status).toBe(200);
    expect((await call(known.secret, '/usage')).status).toBe(200);
  });

  it('a good key that was not asked for yet is 503 authentication_unavailable, never 401', async () => {
    const answer = await call(unknownYet.secret);
    expectProblem(answer, 'authentication_unavailable');
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(answer.headers).not.toHaveProperty('www-authenticate');
    expectProblem(await call(createSecret('live')), 'authentication_unavailable');
  });

  it('junk with a wrong checksum is 401 all the same', async () => {
    expectProblem(await call('tg_live_junk'), 'invalid_api_key');
  });

  it('the admin API answers 503 database_unavailable, in bounded time, and changes nothing', async () => {
    const startedMs = performance.now();
    const answer = await gateway.admin.request('DELETE', `/api-keys/${known.id}`);
    expectProblem(answer, 'database_unavailable');
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(quietMsSince(startedMs)).toBeLessThan(5_000);
    expectProblem(await gateway.admin.request('POST', '/accounts', { name: 'a', plan: 'pro' }), 'database_unavailable');
    expectProblem(await gateway.admin.request('GET', `/api-keys/${known.id}`), 'database_unavailable');
  });

  it('the probes say so, and keep the process in service', async () => {
    expect((await send(`${gateway.adminUrl}/livez`)).status).toBe(200);
    // What is asked by the second in the background is told, so that the probe itself waits for nothing.
    await eventually('the probe has found out', async () => {
      const { status, text } = await send(`${gateway.adminUrl}/readyz`);
      const ready = JSON.parse(text) as { status: string; checks: { database: { status: string } } };
      expect([status, ready.status]).toEqual([200, 'ready']);
      return ready.checks.database.status === 'warn';
    });
  });

  it('a known key whose time for a check has come goes on, and is counted as stale', async () => {
    await new Promise((done) => setTimeout(done, Math.max(0, knownSinceMs + RECHECK_MS + 200 - Date.now())));
    const waits: number[] = [];
    for (let round = 0; round < 10; round++) {
      const startedMs = performance.now();
      expect((await call(known.secret)).status).toBe(200);
      waits.push(performance.now() - startedMs);
    }
    // Only the first one may wait for a database that does not answer.
    expect(Math.max(...waits.slice(1))).toBeLessThan(500);
    const series = seriesOf((await send(`${gateway.adminUrl}/metrics`)).text);
    expect(series.get('trailgate_key_stale_answers_total')).toBeGreaterThanOrEqual(10);
    expect(series.get('trailgate_usage_flushes_total{outcome="failed"}')).toBeGreaterThan(0);
    expect(series.get('trailgate_usage_flush_lag_seconds')).toBeGreaterThan(1);
  });

  it('and when it is back, everything works again by itself, and nothing that was counted is lost', async () => {
    await postgres.restart();
    await eventually('the key is found', async () => (await call(unknownYet.secret)).status === 200);
    await eventually('the admin API answers', async () => {
      return (await gateway.admin.request('GET', `/api-keys/${known.id}`)).status === 200;
    });
    await eventually('the database passes', async () => {
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
