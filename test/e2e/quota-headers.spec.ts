/** Every response has correct rate limit fields. Rate limit fields of a backend are removed. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DateTime } from 'luxon';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { startBackend, type Backend, type BackendHandler, json } from '../support/backend.js';
import { send, type Answer } from '../support/http.js';
import { Caller, limitFieldsOf, policiesOf } from '../support/rate-limit.js';
import { TurnedClock } from '../support/turned-clock.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const PLANS = {
  monthly: { account: { month: 5 } },
  months: { account: { month: 50 } },
  four: { key: { minute: 60, month: 5_000 }, account: { minute: 120, month: 10_000 } },
};

let backend: Backend;
let handler: BackendHandler = json({ ok: true });
let gateway: SharedTrailgate;
const callers: Caller[] = [];

beforeAll(async () => {
  backend = await startBackend((...args) => handler(...args));
  gateway = await acquireTrailgate({
    backend: backend.url,
    config: { plans: PLANS, operations: [{ match: 'GET /customers/{id}', cost: 7 }] },
  });
});
afterAll(async () => {
  for (const caller of callers) caller.close();
  await gateway.stop();
  await backend.stop();
});

function callerWith(key: ApiKeyWithSecret): Caller {
  const caller = new Caller(gateway.gatewayUrl, key.secret);
  callers.push(caller);
  return caller;
}

const secondsLeftInMonth = (): number => {
  const now = new Date();
  return (Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) - now.getTime()) / 1_000;
};

/** Expects Retry-After in whole seconds, and not before the reset of the policy. */
function expectRetryAfter(answer: Answer, policy: string): void {
  expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  const { t } = policiesOf(answer).find(({ name }) => name === policy)!;
  expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(t);
  expect(answer.json()['retry_after']).toBe(Number(answer.headers['retry-after']));
}

it('the 61st request of a key with 60 a minute gets 429 rate_limited with Retry-After', async () => {
  const { key } = await gateway.admin.newKey('starter');
  const caller = callerWith(key);
  for (let call = 1; call <= 60; call++) {
    const answer = await caller.get();
    expect(answer.status).toBe(200);
    expect(policiesOf(answer)[0]).toMatchObject({ name: 'key-minute', q: 60, w: 60, r: 60 - call });
  }
  const refused = await caller.get();
  expect(refused.status).toBe(429);
  expect(refused.headers['content-type']).toMatch(/^application\/problem\+json/);
  expect(refused.json()).toMatchObject({
    type: `${gateway.gatewayUrl}/docs/errors/rate_limited`,
    status: 429,
    code: 'rate_limited',
    'violated-policies': ['key-minute'],
    request_id: refused.headers['x-request-id'],
  });
  expect(refused.json()['detail']).toContain(`Key ${key.id} has used 60 of 60 requests in the last minute.`);
  expect(refused.headers['x-should-retry']).toBe('true');
  expect(policiesOf(refused)).toMatchObject([
    { name: 'key-minute', q: 60, r: 0 },
    { name: 'account-minute', q: 120, r: 60 },
    { name: 'account-month', q: 10_000, r: 9_940 },
  ]);
  expectRetryAfter(refused, 'key-minute');
});

it('a used-up month gets 429 quota_exceeded, not retryable, with the reset in the account time zone', async () => {
  const account = await gateway.admin.createAccount({ plan: 'monthly', time_zone: 'Europe/Vienna' });
  const caller = callerWith(await gateway.admin.createKey(account.id));
  expect(await caller.burst(5)).toEqual({ 200: 5 });
  const refused = await caller.get();
  expect(refused.status).toBe(429);
  expect(refused.json()).toMatchObject({
    type: `${gateway.gatewayUrl}/docs/errors/quota_exceeded`,
    code: 'quota_exceeded',
    'violated-policies': ['account-month'],
  });
  const detail = String(refused.json()['detail']);
  const [, reset = ''] =
    /^Account (?:\S+) has used 5 of 5 requests this month\. It resets at (\S+)\.$/.exec(detail) ?? [];
  expect(detail).toContain(account.id);
  // The month ends at midnight in the time zone of the account.
  const end = DateTime.now().setZone(account.time_zone).plus({ months: 1 }).startOf('month');
  expect(reset).toBe(end.toISO({ suppressMilliseconds: true }));
  expect(refused.json()['resets_at']).toBe(reset);
  expect(refused.headers['x-should-retry']).toBe('false');
  expect(policiesOf(refused)[0]!.t).toBeGreaterThan(end.diffNow('seconds').seconds - 5);
});

describe('Retry-After is never longer than an hour', () => {
  const END = Date.UTC(2026, 10, 1);
  let clock: TurnedClock;
  let turned: SharedTrailgate;

  beforeAll(async () => {
    clock = new TurnedClock();
    clock.stopAt(END - 8 * 86_400_000);
    turned = await acquireTrailgate({ backend: backend.url, env: clock.env, config: { plans: PLANS } });
  });
  afterAll(async () => {
    await turned.stop();
    clock.close();
  });

  const withUsedUpMonth = async (): Promise<Caller> => {
    const caller = new Caller(turned.gatewayUrl, (await turned.admin.newKey('monthly')).key.secret);
    callers.push(caller);
    expect(await caller.burst(5)).toEqual({ 200: 5 });
    return caller;
  };

  it.each([8 * 86_400, 3_601])('and is absent for a used-up month that ends in %d seconds', async (seconds) => {
    clock.stopAt(END - seconds * 1_000);
    const refused = await (await withUsedUpMonth()).get();
    expect([refused.status, refused.json()['code']]).toEqual([429, 'quota_exceeded']);
    expect(refused.headers['retry-after']).toBeUndefined();
    expect(refused.json()['retry_after']).toBeUndefined();
    // The field is absent, because the client library ky would use it in place of Retry-After.
    expect(refused.headers['x-ratelimit-reset']).toBeUndefined();
    expect(refused.headers['x-should-retry']).toBe('false');
    expect(refused.headers).toMatchObject({ 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '0' });
    expect(policiesOf(refused)).toEqual([{ name: 'account-month', q: 5, w: 31 * 86_400, r: 0, t: seconds }]);
    expect(refused.json()['resets_at']).toBe('2026-11-01T00:00:00+00:00');
  });

  it('and is present in the last hour of a used-up month, with X-Should-Retry: false', async () => {
    clock.stopAt(END - 3_500_000);
    const refused = await (await withUsedUpMonth()).get();
    expectRetryAfter(refused, 'account-month');
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(3_600);
    expect(refused.headers).toMatchObject({ 'x-ratelimit-reset': '3500', 'x-should-retry': 'false' });
  });

  it.each([413, 429, 503])('and is removed, like X-RateLimit-Reset, from a %i that asks for longer', async (status) => {
    clock.stopAt(END - 8 * 86_400_000);
    const caller = new Caller(turned.gatewayUrl, (await turned.admin.newKey('months')).key.secret);
    callers.push(caller);
    const whole = await caller.get();
    expect(whole.headers['x-ratelimit-reset']).toBe(String(8 * 86_400));
    for (const asked of ['3601', '756000', new Date(Date.now() + 8.64e7).toUTCString(), 'tomorrow']) {
      handler = (_request, response) => void response.writeHead(status, { 'Retry-After': asked }).end();
      const { status: answered, headers } = await caller.get();
      expect([answered, headers['retry-after'], headers['x-ratelimit-reset']]).toEqual([status, undefined, undefined]);
    }
    handler = (_request, response) => void response.writeHead(status, { 'Retry-After': '3600' }).end();
    expect((await caller.get()).headers['retry-after']).toBe('3600');
    handler = json({ ok: true });
  });
});

it('every response to a valid key lists all policies, and X-RateLimit describes the tightest one', async () => {
  const { key } = await gateway.admin.newKey('four', { scopes: ['customers:read'] });
  const caller = callerWith(key);
  const names = ['key-minute', 'account-minute', 'account-month', 'key-month'];
  const ok = await caller.get();
  const forbidden = await caller.get('/files/a');
  handler = json({ message: 'no such customer' }, 404);
  const missing = await caller.get('/customers');
  handler = (request) => void request.socket.destroy();
  const broken = await caller.get('/customers');
  handler = json({ ok: true });
  const usage = await caller.get('/usage');
  const answers = [ok, forbidden, missing, broken, usage];
  expect(answers.map(({ status }) => status)).toEqual([200, 403, 404, 502, 200]);
  for (const answer of answers) {
    expect(policiesOf(answer).map(({ name }) => name)).toEqual(names);
    const [tightest] = policiesOf(answer);
    expect(answer.headers).toMatchObject({
      'x-ratelimit-limit': '60',
      'x-ratelimit-remaining': String(tightest!.r),
      'x-ratelimit-reset': String(tightest!.t),
    });
  }
  // The 502 cost nothing, as the fields of that response already show.
  expect(answers.map((answer) => policiesOf(answer)[0]!.r)).toEqual([59, 59, 58, 58, 58]);
});

it('the month policy has the length of the calendar month and the seconds that remain in it', async () => {
  const { key } = await gateway.admin.newKey('monthly');
  const [policy] = policiesOf(await callerWith(key).get());
  const now = new Date();
  const days = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 0)).getUTCDate();
  expect(policy).toMatchObject({ name: 'account-month', q: 5, w: days * 86_400, r: 4 });
  expect(Math.abs(policy!.t - secondsLeftInMonth())).toBeLessThan(5);
});

it('an operation uses up its cost, and is refused if less than that remains', async () => {
  const { key } = await gateway.admin.newKey('starter');
  const caller = callerWith(key);
  expect(policiesOf(await caller.get('/customers/1'))[0]!.r).toBe(53);
  await caller.burst(50);
  const refused = await caller.get('/customers/1');
  expect(refused.status).toBe(429);
  expect(policiesOf(refused)[0]!.r).toBe(3);
  expect(await caller.burst(4)).toEqual({ 200: 3, 429: 1 });
});

it('a response to a missing or invalid key has no rate limit fields', async () => {
  for (const headers of [{}, { Authorization: 'Bearer junk' }]) {
    const answer = await send(`${gateway.gatewayUrl}/api/v1/open`, { headers });
    expect(answer.status).toBe(401);
    expect(limitFieldsOf(answer)).toEqual([]);
  }
});

it('a response on a plan without limits has no rate limit fields', async () => {
  const { key } = await gateway.admin.newKey('unlimited');
  const answer = await callerWith(key).get();
  expect(answer.status).toBe(200);
  expect(limitFieldsOf(answer)).toEqual([]);
});

it.each([200, 422, 500])('rate limit fields of a backend are removed from its %i response', async (status) => {
  handler = (_request, response) => {
    response.writeHead(status, {
      'content-type': 'application/json',
      RateLimit: '"theirs";r=77777;t=1',
      'RateLimit-Policy': '"theirs";q=77777;w=1',
      'RateLimit-Limit': '77777',
      'RateLimit-Remaining': '77777',
      'RateLimit-Reset': '1',
      'X-RateLimit-Limit': '77777',
      'X-RateLimit-Remaining': '77777',
      'X-RateLimit-Reset': '1',
      'X-Should-Retry': 'true',
    });
    response.end('{"message":"theirs"}');
  };
  const limited = callerWith((await gateway.admin.newKey('starter')).key);
  const answer = await limited.get();
  expect(answer.status).toBe(status);
  expect(policiesOf(answer).map(({ name }) => name)).toEqual(['key-minute', 'account-minute', 'account-month']);
  expect(answer.rawHeaders.filter((name) => name.toLowerCase() === 'x-ratelimit-limit')).toHaveLength(1);
  const fields = JSON.stringify(answer.rawHeaders);
  for (const theirs of ['theirs', '77777', 'X-Should-Retry', 'x-should-retry']) expect(fields).not.toContain(theirs);
  const unlimited = callerWith((await gateway.admin.newKey('unlimited')).key);
  expect(limitFieldsOf(await unlimited.get())).toEqual([]);
  handler = json({ ok: true });
});

it('/usage matches the rate limit fields, costs nothing and needs no scope', async () => {
  const { account, key } = await gateway.admin.newKey('four', { scopes: ['files:read'] });
  const caller = callerWith(key);
  await caller.burst(7);
  const counted = await caller.get();
  for (let call = 0; call < 3; call++) {
    const answer = await caller.get('/usage');
    expect(answer.status).toBe(200);
    const policies = policiesOf(answer);
    expect(policies.map(({ r }) => r)).toEqual(policiesOf(counted).map(({ r }) => r));
    const usage = answer.json<{
      windows: { policy: string; limit: number; used: number; remaining: number; resets_at: string }[];
    }>();
    expect(usage).toMatchObject({ account_id: account.id, api_key_id: key.id, plan: 'four' });
    expect(usage.windows.map(({ policy, limit, remaining }) => [policy, limit, remaining])).toEqual(
      policies.map(({ name, q, r }) => [name, q, r]),
    );
    for (const [index, { limit, used, remaining, resets_at: resetsAt }] of usage.windows.entries()) {
      expect(limit - used).toBe(remaining);
      expect(Math.abs((Date.parse(resetsAt) - Date.now()) / 1_000 - policies[index]!.t)).toBeLessThan(2);
    }
  }
  const operatorsView = await gateway.admin.usage(account.id);
  expect(operatorsView.windows.map(({ policy, used }) => [policy, used])).toEqual([
    ['account-minute', 8],
    ['account-month', 8],
  ]);
});

it('a plan change applies at once, and earlier usage counts against the new limit', async () => {
  const { account, key } = await gateway.admin.newKey('monthly');
  const caller = callerWith(key);
  expect(await caller.burst(6)).toEqual({ 200: 5, 429: 1 });
  await gateway.admin.updateAccount(account.id, { plan: 'four' });
  const answer = await caller.get();
  expect(answer.status).toBe(200);
  expect(policiesOf(answer).find(({ name }) => name === 'account-month')).toMatchObject({ q: 10_000, r: 9_994 });
  await gateway.admin.updateAccount(account.id, { plan: 'monthly' });
  const lowered = await caller.get();
  expect([lowered.status, policiesOf(lowered)[0]!.r]).toEqual([429, 0]);
});
