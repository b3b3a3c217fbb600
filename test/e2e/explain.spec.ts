/** `POST /admin/v1/explain` returns the response that a key would get and its limits, without side effects. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithRedis } from '../support/describe-with.js';
import { eventually } from '../support/processes.js';
import { runTrailgate, startTrailgate, type RunningTrailgate, type TrailgateOptions } from '../support/program.js';
import { Caller } from '../support/rate-limit.js';
import { sharedRedisUrl } from '../support/redis.js';

interface Limit {
  readonly policy: string;
  readonly limit: number;
  readonly source: string;
  readonly used: number;
  readonly remaining: number;
  readonly refuses: boolean;
}

interface Explanation {
  readonly operation: { readonly id: string; readonly path: string } | null;
  readonly cost: number;
  readonly charge: string;
  readonly on_redis_loss: string;
  readonly steps: readonly { readonly step: string; readonly verdict: string; readonly code: string | null }[];
  readonly limits: readonly Limit[];
  readonly shadow: readonly Limit[];
  readonly answer: {
    readonly admitted: boolean;
    readonly status: number | null;
    readonly code: string | null;
    readonly detail: string | null;
    readonly violated_policies: readonly string[];
    readonly retry_after_seconds: number | null;
  };
}

const CONFIG = {
  plans: {
    small: {
      key: { minute: 5 },
      account: { minute: 50, month: 1_000 },
      charge: 'successes',
      onRedisLoss: 'closed',
      shadow: { key: { minute: 2 } },
    },
    monthly: { account: { month: 3 } },
  },
  operations: [{ match: 'GET /costly', id: 'costly', service: 'backend', scopes: [], cost: 4 }],
};

function suite(env: () => Promise<Record<string, string>>): void {
  let backend: Backend;
  let gateway: RunningTrailgate;
  let options: TrailgateOptions;
  beforeAll(async () => {
    backend = await startBackend(json({ ok: true }));
    options = { backend: backend.url, config: CONFIG, env: await env() };
    gateway = await startTrailgate(options);
  });
  afterAll(async () => {
    await gateway.stop();
    await backend.stop();
  });

  const explain = (api_key_id: string, asked: object): Promise<Explanation> =>
    gateway.admin.call('POST', '/explain', { api_key_id, ...asked });
  const get = (path: string) => ({ method: 'GET', path });

  it('returns the operation, cost, charge, limits and their usage', async () => {
    const { key } = await gateway.admin.newKey('small');
    const caller = new Caller(gateway.gatewayUrl, key.secret);
    expect(await caller.burst(3)).toEqual({ 200: 3 });
    const explained = await explain(key.id, get('/api/v1/customers/cus_1?limit=2'));
    expect(explained).toMatchObject({
      operation: { id: 'getCustomer', path: '/api/v1/customers/{id}' },
      cost: 1,
      charge: 'successes',
      on_redis_loss: 'closed',
      answer: { admitted: true, status: null, code: null, violated_policies: [], retry_after_seconds: null },
    });
    expect(
      explained.limits.map(({ policy, limit, source, used, refuses }) => [policy, limit, source, used, refuses]),
    ).toEqual([
      ['key-minute', 5, 'plan', 3, false],
      ['account-minute', 50, 'plan', 3, false],
      ['account-month', 1_000, 'plan', 3, false],
    ]);
    expect(explained.shadow).toMatchObject([{ policy: 'key-minute', limit: 2, used: 2, remaining: 0, refuses: true }]);
    caller.close();
  });

  it('predicts the refusal that the request then gets, with its policies and retry time', async () => {
    const { key } = await gateway.admin.newKey('small');
    const caller = new Caller(gateway.gatewayUrl, key.secret);
    await caller.burst(2);
    expect((await explain(key.id, { operation: 'getOpen' })).answer.admitted).toBe(true);
    // Two of five requests are used, and this operation costs four.
    const { answer } = await explain(key.id, get('/api/v1/costly'));
    const real = await caller.get('/costly');
    expect(answer).toMatchObject({
      status: real.status,
      code: real.json()['code'],
      violated_policies: real.json()['violated-policies'],
    });
    expect(Math.abs((answer.retry_after_seconds ?? 0) - Number(real.headers['retry-after']))).toBeLessThanOrEqual(3);
    caller.close();
  });

  it('reports when a used-up month resets', async () => {
    const { key } = await gateway.admin.newKey('monthly');
    const caller = new Caller(gateway.gatewayUrl, key.secret);
    await caller.burst(3);
    const { answer } = await explain(key.id, get('/api/v1/open'));
    expect(answer).toMatchObject({ status: 429, code: 'quota_exceeded', violated_policies: ['account-month'] });
    expect(answer.detail).toContain('3 of 3 requests this month');
    const { headers } = await caller.get();
    expect(String(answer.retry_after_seconds)).toBe(String(headers['retry-after'] ?? null));
    caller.close();
  });

  it('returns the verdict of each step, also after one that refuses', async () => {
    const wanted = { scopes: ['files:read'], allowed_ips: ['10.0.0.0/8'] };
    const { key } = await gateway.admin.newKey('small', wanted);
    const steps = async (asked: object) =>
      (await explain(key.id, asked)).steps.map(({ step, verdict, code }) => [step, verdict, code]);
    expect(await steps({ ...get('/api/v1/customers'), client_address: '192.0.2.1' })).toEqual([
      ['route', 'passes', null],
      ['key', 'refuses', 'ip_not_allowed'],
      ['scope', 'refuses', 'insufficient_scope'],
      ['quota', 'passes', null],
    ]);
    expect(await steps(get('/api/v1/nowhere'))).toEqual([
      ['route', 'refuses', 'route_not_found'],
      ['key', 'passes', null],
      ['scope', 'unknown', null],
      ['quota', 'unknown', null],
    ]);
    const { key: small } = await gateway.admin.newKey('small');
    const caller = new Caller(gateway.gatewayUrl, small.secret);
    await caller.burst(2);
    const { steps: full } = await explain(small.id, get('/api/v1/costly'));
    expect(full.at(-1)).toMatchObject({ step: 'quota', verdict: 'refuses', code: 'rate_limited' });
    caller.close();
  });

  it('returns the first refusal in the order of the request path', async () => {
    const { account, key } = await gateway.admin.newKey('small', {
      scopes: ['files:read'],
      allowed_ips: ['10.0.0.0/8'],
    });
    const answers = async (asked: object) => {
      const { status, code } = (await explain(key.id, asked)).answer;
      return [status, code];
    };
    expect(await answers(get('/api/v1/customers'))).toEqual([403, 'insufficient_scope']);
    expect(await answers({ ...get('/api/v1/customers'), client_address: '192.0.2.1' })).toEqual([
      403,
      'ip_not_allowed',
    ]);
    expect(await answers({ ...get('/api/v1/open'), client_address: '10.1.2.3' })).toEqual([null, null]);
    await gateway.admin.updateAccount(account.id, { status: 'suspended' });
    expect(await answers(get('/api/v1/customers'))).toEqual([403, 'account_suspended']);
    await gateway.admin.pauseKey(key.id);
    expect(await answers(get('/api/v1/customers'))).toEqual([403, 'key_paused']);
    await gateway.admin.revokeKey(key.id);
    expect(await answers(get('/api/v1/customers'))).toEqual([401, 'revoked_api_key']);
    expect(await answers({ method: 'DELETE', path: '/api/v1/customers' })).toEqual([405, 'method_not_allowed']);
    expect(await answers(get('/api/v1/nothing'))).toEqual([404, 'route_not_found']);
    expect(await answers(get('/customers'))).toEqual([404, 'route_not_found']);
    expect(await answers(get('/api/v1/a//b'))).toEqual([400, 'invalid_path']);
    expect(await answers(get('/api/v1/usage'))).toEqual([401, 'revoked_api_key']);
    expect(await answers(get('/api/v1/openapi.json'))).toEqual([null, null]);
  });

  it.each([
    ['an unknown key', { api_key_id: 'key_nothing', operation: 'getOpen' }, 404],
    ['an unknown operation', { operation: 'nothing' }, 422],
    ['neither operation nor request', {}, 422],
    ['both', { operation: 'getOpen', method: 'GET', path: '/api/v1/open' }, 422],
    ['a method without a path', { method: 'GET' }, 422],
    ['a field that is unknown', { operation: 'getOpen', count: true }, 422],
  ])('refuses %s', async (_what, body, status) => {
    const { key } = await gateway.admin.newKey('small');
    const answer = await gateway.admin.request('POST', '/explain', { api_key_id: key.id, ...body });
    expect(answer.status).toBe(status);
  });

  it('changes neither counts nor last use nor the audit log, also after a restart', async () => {
    const { account, key } = await gateway.admin.newKey('small');
    const { key: unused } = await gateway.admin.newKey('small');
    const caller = new Caller(gateway.gatewayUrl, key.secret);
    await caller.burst(2);
    const state = async () => ({
      used: (await gateway.admin.usage(account.id, `?api_key_id=${key.id}`)).windows.map(({ used }) => used),
      shadow: (await explain(key.id, get('/api/v1/open'))).shadow.map(({ used }) => used),
      audited: (await gateway.admin.auditLog(`?account_id=${account.id}`)).data.length,
    });
    const before = await state();
    expect(before.used).toEqual([2, 2, 2]);
    for (let time = 0; time < 20; time++) {
      await explain(key.id, get('/api/v1/costly'));
      await explain(unused.id, get('/api/v1/open'));
    }
    expect(await state()).toEqual(before);
    caller.close();
    await gateway.stop();
    gateway = await startTrailgate({ ...options, dataDir: gateway.dataDir });
    expect((await gateway.admin.getKey(unused.id)).last_used_at).toBeNull();
    expect((await gateway.admin.getKey(key.id)).last_used_at).not.toBeNull();
    expect((await state()).used.at(-1)).toBe(2);
  });

  it('is available as a command, with text or JSON output', async () => {
    const { key } = await gateway.admin.newKey('small');
    const cliEnv = { TRAILGATE_ADMIN_URL: gateway.adminUrl, TRAILGATE_ADMIN_TOKEN: gateway.adminToken };
    let people = { stdout: '' };
    await eventually('Redis answers within its deadline', async () => {
      people = await runTrailgate(['explain', key.id, 'get', '/api/v1/open'], { env: cliEnv });
      return !people.stdout.includes('quota_unavailable');
    });
    expect(people.stdout).toMatch(/^answer +admitted\n/);
    expect(people.stdout).toMatch(/^key-minute +5 +plan +0 +0 +5 /m);
    expect(people.stdout).toMatch(/shadow limits[^]+^key-minute +2 /m);
    const refused = await runTrailgate(['explain', key.id, 'GET', '/api/v1/nothing'], { env: cliEnv });
    expect(refused.stdout).toMatch(/^answer +404 route_not_found\n/);
    const scripted = await runTrailgate(['explain', key.id, 'costly', '--json'], { env: cliEnv });
    expect(JSON.parse(scripted.stdout)).toMatchObject({ operation: { id: 'costly' }, cost: 4 });
  });
}

describe('explain with counters in the process', () => {
  suite(async () => ({}));
});

describeWithRedis('explain with counters in Redis', () => {
  suite(async () => ({ REDIS_URL: await sharedRedisUrl() }));
});
