/**
 * A key that keeps requesting what its scopes do not allow is not rate limited. It must cost Redis next to nothing, and
 * its rate limit fields must be correct.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Agent } from 'node:http';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithRedis } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { expectProblem } from '../support/problem.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const REQUESTS = 400;
/** Time that the gateway may reuse the quota information of a key, in milliseconds. */
const REPEATED_MS = 100;
/** Number of additional Redis calls before and after the requests. */
const BESIDE = 2;

describeWithRedis('with counters in Redis, a key that lacks a scope', () => {
  const agent = new Agent({ keepAlive: true });
  let backend: Backend;
  let gateway: SharedTrailgate;
  beforeAll(async () => {
    backend = await startBackend(json({ data: [] }));
    gateway = await acquireTrailgate({ backend: backend.url, redis: true });
  });
  afterAll(async () => {
    agent.destroy();
    await gateway.stop();
    await backend.stop();
  });

  const call = (secret: string, path: string): Promise<Answer> =>
    send(`${gateway.gatewayUrl}/api/v1${path}`, { agent, headers: { Authorization: `Bearer ${secret}` } });
  const callsToRedis = async (): Promise<number> =>
    seriesOf((await send(`${gateway.adminUrl}/metrics`)).text).get(
      'trailgate_quota_store_call_duration_seconds_count',
    ) ?? 0;

  it('gets correct rate limit fields for at most one Redis call in 100 ms', async () => {
    const { secret } = (await gateway.admin.newKey('starter', { scopes: ['files:read'] })).key;
    expectProblem(await call(secret, '/customers'), 'insufficient_scope');
    const before = await callsToRedis();
    const startedMs = performance.now();
    for (let sent = 0; sent < REQUESTS; sent++) {
      expect((await call(secret, '/customers')).headers['ratelimit']).toMatch(/^"key-minute";r=60;/);
    }
    const most = (performance.now() - startedMs) / REPEATED_MS + BESIDE;
    expect((await callsToRedis()) - before).toBeLessThanOrEqual(most);
  });

  it('sees each admitted request in its rate limit fields at once', async () => {
    const { secret } = (await gateway.admin.newKey('starter', { scopes: ['files:read'] })).key;
    for (let left = 59; left > 40; left--) {
      expect((await call(secret, '/files/a')).status).toBe(200);
      for (let again = 0; again < 2; again++) {
        expect((await call(secret, '/customers')).headers['x-ratelimit-remaining']).toBe(String(left));
      }
    }
  });
});
