/** Usage records the outcome of every request, and adds up to the counters after the flush interval. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import { startBackend, type Backend } from '../support/backend.js';
import { migratedDatabase, type TestDatabase } from '../support/database.js';
import { describeWithBoth } from '../support/describe-with.js';
import { openRequest, send } from '../support/http.js';
import { eventually } from '../support/processes.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';
import { Caller } from '../support/rate-limit.js';
import { sharedRedisUrl } from '../support/redis.js';

interface Row {
  readonly day: string;
  readonly api_key_id: string | null;
  readonly operation: string | null;
  readonly outcome: string;
  readonly requests: number;
  readonly cost: number;
}

interface RowsAnswer {
  readonly windows: readonly { readonly policy: string; readonly used: number }[];
  readonly from: string;
  readonly to: string;
  readonly data: readonly Row[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

const PLANS = { bill: { account: { month: 20 } }, minute: { key: { minute: 3 } } };

/** Starts a backend for `/files/<name>`. The name selects its response. */
function startFiles(): Promise<Backend> {
  return startBackend((request, response) => {
    const name = request.url?.split('/').at(-1) ?? '';
    if (name === 'hang') return;
    if (name === 'reset') response.destroy();
    else response.writeHead(/^\d{3}$/.test(name) ? Number(name) : 200).end();
  });
}

function suite(environment: () => Promise<Record<string, string>>): void {
  let backend: Backend;
  let trailgate: RunningTrailgate;
  beforeAll(async () => {
    backend = await startFiles();
    trailgate = await startTrailgate({
      backend: backend.url,
      config: {
        usage: { flushInterval: '100ms' },
        plans: PLANS,
        operations: [{ match: 'GET /customers', cost: 3 }],
      },
      env: await environment(),
    });
  });
  afterAll(async () => {
    await trailgate?.stop();
    await backend.stop();
  });

  const rowsOf = (accountId: string, query: string) =>
    trailgate.admin.call<RowsAnswer>('GET', `/accounts/${accountId}/usage?${query}`);
  const outcomesOf = async (accountId: string) =>
    Object.fromEntries(
      (await rowsOf(accountId, 'group_by=outcome')).data.map((row) => [row.outcome, [row.requests, row.cost]]),
    );

  /** Waits for the flush, and expects these outcomes. */
  const expectUsage = async (accountId: string, expected: Record<string, number[]>): Promise<void> => {
    const holds = async () => isDeepStrictEqual(await outcomesOf(accountId), expected);
    await eventually('usage is written', holds).catch(() => undefined);
    expect(await outcomesOf(accountId)).toEqual(expected);
  };

  it('counts each request under its outcome, and the costs add up to the usage of the month', async () => {
    const { account, key } = await trailgate.admin.newKey('bill');
    const reader = await trailgate.admin.createKey(account.id, { scopes: ['files:read'] });
    const caller = new Caller(trailgate.gatewayUrl, key.secret);
    expect(await caller.burst(5)).toEqual({ 200: 5 });
    expect(await caller.burst(2, '/customers')).toEqual({ 200: 2 });
    expect(await caller.burst(2, '/files/404')).toEqual({ 404: 2 });
    expect(await caller.burst(1, '/files/500')).toEqual({ 500: 1 });
    expect(await caller.burst(2, '/files/reset')).toEqual({ 502: 2 });
    expect(await caller.burst(1, '/files/503')).toEqual({ 503: 1 });
    const other = new Caller(trailgate.gatewayUrl, reader.secret);
    expect(await other.burst(3, '/customers')).toEqual({ 403: 3 });
    expect(await other.burst(1, '/files/204')).toEqual({ 204: 1 });

    backend.requests.length = 0;
    const headers = { Authorization: `Bearer ${key.secret}` };
    const leaving = openRequest(`${trailgate.gatewayUrl}/api/v1/files/hang`, { headers }).on('error', () => {});
    leaving.end();
    await eventually('the backend gets the request', () => backend.requests.length === 1);
    const before = { success: [8, 12], client_error: [2, 2], server_error: [1, 1], given_back: [3, 0], denied: [3, 0] };
    await expectUsage(account.id, { ...before, in_flight: [1, 1] });
    leaving.destroy();
    await expectUsage(account.id, { ...before, aborted: [1, 1] });

    expect(await caller.burst(9)).toEqual({ 200: 4, 429: 5 });
    await expectUsage(account.id, { ...before, success: [12, 16], aborted: [1, 1], quota_exceeded: [5, 0] });
    const { data, windows } = await rowsOf(account.id, 'group_by=day,api_key,operation,outcome');
    expect(data.reduce((sum, { cost }) => sum + cost, 0)).toBe(20);
    expect(windows).toMatchObject([{ policy: 'account-month', used: 20 }]);
    expect(data).toContainEqual(
      expect.objectContaining({ api_key_id: reader.id, operation: 'listCustomers', outcome: 'denied', requests: 3 }),
    );
    for (const each of [caller, other]) each.close();
  });

  it('has a forecast of the daily and the monthly cost, only if asked to', async () => {
    const { account, key } = await trailgate.admin.newKey('bill');
    const caller = new Caller(trailgate.gatewayUrl, key.secret);
    expect(await caller.burst(12)).toEqual({ 200: 12 });
    caller.close();
    await expectUsage(account.id, { success: [12, 12] });
    const { forecasts } = await trailgate.admin.call<{ forecasts: readonly Record<string, unknown>[] }>(
      'GET',
      `/accounts/${account.id}/usage?forecast=true&api_key_id=${key.id}`,
    );
    // Eight requests are left, at twelve a day. Only on its last day would the month end before they are used up.
    expect(forecasts).toMatchObject([{ policy: 'account-month', per_day: 12 }]);
    expect(forecasts[0]?.['expected']).toBeGreaterThanOrEqual(12);
    expect(await trailgate.admin.usage(account.id)).not.toHaveProperty('forecasts');
  });

  it('counts requests refused by the minute limit, by address or by suspension, apart from those that succeeded', async () => {
    const { account, key } = await trailgate.admin.newKey('minute');
    const caller = new Caller(trailgate.gatewayUrl, key.secret);
    expect(await caller.burst(8)).toEqual({ 200: 3, 429: 5 });
    await expectUsage(account.id, { success: [3, 3], rate_limited: [5, 0] });
    const elsewhere = await trailgate.admin.createKey(account.id, { allowed_ips: ['203.0.113.7'] });
    const stranger = new Caller(trailgate.gatewayUrl, elsewhere.secret);
    expect(await stranger.burst(2)).toEqual({ 403: 2 });
    await trailgate.admin.updateAccount(account.id, { status: 'suspended' });
    await eventually('the account is suspended', async () => (await caller.get()).status === 403);
    await eventually('all usage is written', async () => {
      const { denied, success } = await outcomesOf(account.id);
      return (denied?.[0] ?? 0) >= 3 && success?.[0] === 3;
    });
    for (const each of [caller, stranger]) each.close();
  });

  it('shows a key its own rows, and those of no other key', async () => {
    const { account, key } = await trailgate.admin.newKey('bill');
    const other = await trailgate.admin.createKey(account.id);
    const callers = [key, other].map(({ secret }) => new Caller(trailgate.gatewayUrl, secret));
    await Promise.all([callers[0]?.burst(2), callers[1]?.burst(3)]);
    await eventually('both outcomes are written', async () => (await outcomesOf(account.id))['success']?.[0] === 5);
    const answer = await callers[0]?.get('/usage?group_by=api_key,operation,outcome');
    expect(answer?.json()).toMatchObject({
      api_key_id: key.id,
      data: [{ api_key_id: key.id, operation: 'getOpen', outcome: 'success', requests: 2, cost: 2 }],
      has_more: false,
      next_cursor: null,
    });
    const wrong = await callers[0]?.get('/usage?group_by=day&from=2016-01-01');
    expect(wrong?.status).toBe(400);
    expect(wrong?.json()).toMatchObject({ code: 'invalid_parameter', errors: [{ parameter: 'from' }] });
    expect((await callers[0]?.get('/usage'))?.json()).not.toHaveProperty('data');
    for (const each of callers) each.close();
  });

  it('has the same rows in pages that are linked, as CSV and in the command line tool', async () => {
    const { account, key } = await trailgate.admin.newKey('bill');
    const caller = new Caller(trailgate.gatewayUrl, key.secret);
    await Promise.all([caller.burst(1), caller.burst(1, '/files/404'), caller.burst(1, '/customers')]);
    const query = 'group_by=operation,outcome';
    // A row appears with the flush after a request was admitted. Its outcome follows in a later flush.
    const hasEnded = ({ outcome }: Row) => outcome !== 'in_flight';
    await eventually('all rows are written with their outcomes', async () => {
      const { data } = await rowsOf(account.id, query);
      return data.length === 3 && data.every(hasEnded);
    });
    const whole = await rowsOf(account.id, query);
    const paged: Row[] = [];
    let path = `/accounts/${account.id}/usage?${query}&limit=2`;
    for (;;) {
      const page = await trailgate.admin.request('GET', path);
      paged.push(...page.json<RowsAnswer>().data);
      const link = /<\/admin\/v1([^>]*)>; rel="next"/.exec(String(page.headers['link'] ?? ''));
      if (link === null) break;
      path = link[1] ?? '';
    }
    expect(paged).toEqual(whole.data);

    const csv = [
      'operation,outcome,requests,cost',
      'downloadFile,client_error,1,1',
      'getOpen,success,1,1',
      'listCustomers,success,1,3',
      '',
    ].join('\r\n');
    const asked = await trailgate.admin.request('GET', `/accounts/${account.id}/usage?${query}&format=csv`);
    expect(asked.headers['content-type']).toMatch(/^text\/csv; charset=utf-8/);
    expect(asked.headers['content-disposition']).toBe(
      `attachment; filename="usage_${account.id}_${whole.from}_${whole.to}.csv"`,
    );
    expect(asked.text).toBe(csv);
    const headers = { Authorization: `Bearer ${trailgate.adminToken}`, Accept: 'text/csv' };
    const url = `${trailgate.adminUrl}/admin/v1/accounts/${account.id}/usage`;
    expect((await send(`${url}?${query}`, { headers })).text).toBe(csv);
    expect((await send(url, { headers })).text).toMatch(/^day,api_key_id,operation,outcome,requests,cost\r\n/);

    const env = { TRAILGATE_ADMIN_URL: trailgate.adminUrl, TRAILGATE_ADMIN_TOKEN: trailgate.adminToken };
    const command = ['usage', 'get', account.id, '--group-by', 'outcome,operation'];
    expect((await runTrailgate([...command, '--csv'], { env })).stdout).toBe(csv);
    const table = await runTrailgate(command, { env });
    expect(table.stdout).toMatch(/^OPERATION +OUTCOME +REQUESTS +COST\ndownloadFile +client_error +1 +1\n/);
    expect((await runTrailgate([...command, '--from', '2016-01-01'], { env })).stderr).toMatch(/from: .*400 days/);
    caller.close();
  });

  it.each(['group_by=plan', 'group_by=day&from=2016-01-01&to=2026-01-01', 'from=2026-01-01', 'group_by=day&to=soon'])(
    'refuses ?%s with 400',
    async (query) => {
      const { account } = await trailgate.admin.newKey('bill');
      const answer = await trailgate.admin.request('GET', `/accounts/${account.id}/usage?${query}`);
      expect(answer.status).toBe(400);
      expect(answer.json()).toMatchObject({ code: 'invalid_parameter', errors: [{ detail: expect.any(String) }] });
    },
  );
}

describe('usage on the embedded stores', () => {
  suite(async () => ({}));
});

describeWithBoth('usage on Redis and PostgreSQL', () => {
  let database: TestDatabase | undefined;
  afterAll(() => database?.drop());
  suite(async () => {
    database = await migratedDatabase('postgres');
    return { REDIS_URL: await sharedRedisUrl(), DATABASE_URL: database.options.databaseUrl ?? '' };
  });
});
