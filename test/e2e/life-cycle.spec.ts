/** An API version with deprecation and sunset dates announces its end, and ends on that date. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { json, startBackend } from '../support/backend.js';
import { createSecret } from '../../src/keys/api-key-format.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

let trailgate: RunningTrailgate;
afterEach(() => trailgate?.stop());

describe('the life cycle of a version', () => {
  it('is announced in Deprecation, Sunset and Link while the version still answers', async () => {
    const backend = await startBackend(json({ data: [] }));
    trailgate = await startTrailgate({
      backend: backend.url,
      config: { api: { deprecation: '2026-01-01', sunset: '2099-12-31T23:59:59Z' } },
    });
    const { secret } = (await trailgate.admin.newKey('starter', { scopes: ['customers:read'] })).key;
    const answer = await send(`${trailgate.gatewayUrl}/api/v1/customers`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    expect(answer.status).toBe(200);
    expect(answer.headers['deprecation']).toBe('@1767225600');
    expect(answer.headers['sunset']).toBe('Thu, 31 Dec 2099 23:59:59 GMT');
    expect(String(answer.headers['link'])).toContain('/docs/versioning>; rel="deprecation"');
    await backend.stop();
  });

  it('ends with 410 responses that carry Sunset, and no request reaches the backend', async () => {
    const backend = await startBackend(json({ data: [] }));
    trailgate = await startTrailgate({
      backend: backend.url,
      config: { api: { deprecation: '2025-01-01', sunset: '2026-01-01' } },
    });
    const answer = await send(`${trailgate.gatewayUrl}/api/v1/customers`);
    expect(answer.status).toBe(410);
    expect(answer.json()).toMatchObject({ code: 'operation_sunset', status: 410 });
    expect(answer.headers['sunset']).toBe('Thu, 01 Jan 2026 00:00:00 GMT');
    expect(backend.requests).toHaveLength(0);
    await backend.stop();
  });

  it('can be set for one operation with dates, successor and brownouts, without effect on others', async () => {
    const backend = await startBackend(json({ data: [] }));
    trailgate = await startTrailgate({
      backend: backend.url,
      config: {
        operations: [
          {
            match: 'GET /customers',
            deprecation: '2026-01-01',
            sunset: '2099-01-01',
            successor: '/api/v2/customers',
            brownouts: [{ from: '2031-01-01T00:00:00Z', to: '2031-01-01T01:00:00Z' }],
          },
          {
            match: 'GET /customers/{id}',
            deprecation: '2026-01-01',
            brownouts: [{ from: '2026-02-01T00:00:00Z', to: '2098-01-01T00:00:00Z' }],
          },
          { match: 'POST /customers', deprecation: '2024-01-01', sunset: '2025-06-01' },
        ],
      },
    });
    const { key, account } = await trailgate.admin.newKey('starter', { scopes: ['customers:*', 'files:read'] });
    const headers = { authorization: `Bearer ${key.secret}` };
    const url = `${trailgate.gatewayUrl}/api/v1`;

    const announced = await send(`${url}/customers`, { headers });
    expect(announced.status).toBe(200);
    expect(announced.headers).toMatchObject({ deprecation: '@1767225600', sunset: 'Thu, 01 Jan 2099 00:00:00 GMT' });
    expect(String(announced.headers['link'])).toContain(
      `<${trailgate.gatewayUrl}/api/v2/customers>; rel="successor-version"`,
    );

    const rehearsed = await send(`${url}/customers/cus_1`, { headers });
    expect(rehearsed.status).toBe(410);
    expect(rehearsed.json()).toMatchObject({ code: 'operation_brownout' });

    const ended = await send(`${url}/customers`, { method: 'POST', headers, body: '{}' });
    expect(ended.status).toBe(410);
    expect(ended.json()).toMatchObject({ code: 'operation_sunset' });

    const other = await send(`${url}/files/x`, { headers });
    expect(other.headers['deprecation']).toBeUndefined();
    expect(backend.requests.map(({ method, url: asked }) => `${method} ${asked}`)).toEqual([
      'GET /customers',
      'GET /files/x',
    ]);

    const metrics = await (await fetch(`${trailgate.adminUrl}/metrics`)).text();
    expect(metrics).toContain(
      `trailgate_deprecated_requests_total{operation="listCustomers",account_id="${account.id}",phase="deprecated"} 1`,
    );
    const page = await (await fetch(`${trailgate.gatewayUrl}/docs/versioning`)).text();
    expect(page.replaceAll('\n', '')).toContain(
      '<td><code>GET /customers</code></td><td>2026-01-01</td><td>2099-01-01</td>',
    );
    await backend.stop();
  });

  it('adds no header fields if no date is set', async () => {
    trailgate = await startTrailgate();
    const answer = await send(`${trailgate.gatewayUrl}/api/v1/customers`);
    expect(answer.status).toBe(401);
    expect(answer.headers['deprecation']).toBeUndefined();
    expect(answer.headers['sunset']).toBeUndefined();
  });
});

describe('a client that calls an ended operation', () => {
  let gateway: RunningTrailgate;
  const start = (perMinute: number): Promise<RunningTrailgate> =>
    startTrailgate({
      config: {
        gateway: { failedAuthentication: { perMinute } },
        operations: [
          { match: 'GET /customers', sunset: '2025-06-01' },
          {
            match: 'GET /customers/{id}',
            deprecation: '2026-01-01',
            brownouts: [{ from: '2026-02-01T00:00:00Z', to: '2098-01-01T00:00:00Z' }],
          },
        ],
      },
    });
  const ask = (path: string, secret?: string, { gatewayUrl } = gateway) =>
    send(`${gatewayUrl}/api/v1${path}`, { headers: secret === undefined ? {} : { authorization: `Bearer ${secret}` } });
  const scraped = async ({ adminUrl } = gateway) => seriesOf((await send(`${adminUrl}/metrics`)).text);
  const counted = async (operation: string, accountId: string, phase: string, of = gateway) =>
    (await scraped(of)).get(
      `trailgate_deprecated_requests_total{operation="${operation}",account_id="${accountId}",phase="${phase}"}`,
    ) ?? 0;

  beforeAll(async () => {
    gateway = await start(0);
  });
  afterAll(() => gateway.stop());

  it('is counted and logged by account, even if its key was never used before', async () => {
    const [one, two] = [await gateway.admin.newKey(), await gateway.admin.newKey()];
    await ask('/customers', one.key.secret);
    await ask('/customers', one.key.secret);
    await ask('/customers/1', two.key.secret);
    const met = () =>
      Promise.all([
        counted('listCustomers', one.account.id, 'sunset'),
        counted('getCustomer', two.account.id, 'brownout'),
      ]);
    await eventually('all requests are counted', async () => (await met()).join() === '2,1');
    const lines = () =>
      gateway
        .logs()
        .filter(({ event, api_key_id: id }) => event === 'request' && [one.key.id, two.key.id].includes(String(id)));
    await eventually('all calls are logged', () => lines().length === 3);
    expect(lines()).toMatchObject([
      { status: 410, code: 'operation_sunset', account_id: one.account.id },
      { status: 410, code: 'operation_sunset', account_id: one.account.id },
      { status: 410, code: 'operation_brownout', account_id: two.account.id },
    ]);
  });

  it('is counted without account if it has no valid key, and the refusal is no use of its key', async () => {
    const { key, account } = await gateway.admin.newKey();
    await ask('/customers', key.secret);
    await eventually('the call is counted', async () => (await counted('listCustomers', account.id, 'sunset')) === 1);
    expect((await gateway.admin.getKey(key.id)).last_used_at).toBeNull();
    await gateway.admin.revokeKey(key.id);
    const before = await counted('listCustomers', '', 'sunset');
    for (const secret of [undefined, 'junk', createSecret('live'), key.secret]) await ask('/customers', secret);
    await eventually(
      'the other calls are counted',
      async () => (await counted('listCustomers', '', 'sunset')) === before + 4,
    );
    expect(await counted('listCustomers', account.id, 'sunset')).toBe(1);
  });

  it('gets the same response whatever key it sends', async () => {
    const { key } = await gateway.admin.newKey();
    const seen = new Set<string>();
    for (const secret of [undefined, 'junk', createSecret('live'), key.secret, key.secret]) {
      const { status, headers, text } = await ask('/customers', secret);
      const id = String(headers['x-request-id']);
      seen.add(JSON.stringify([status, { ...headers, date: '', 'x-request-id': '' }, text.replace(id, '')]));
    }
    expect([...seen]).toHaveLength(1);
  });

  it('causes no more key lookups than its address has failed attempts', async () => {
    const strict = await start(3);
    const all = async () => await counted('listCustomers', '', 'sunset', strict);
    for (let tried = 0; tried < 10; tried++) {
      await ask('/customers', createSecret('live'), strict);
      await eventually('the call is counted', async () => (await all()) === tried + 1);
    }
    expect((await scraped(strict)).get('trailgate_key_lookups_total{result="database"}')).toBe(3);
    expect((await ask('/customers', undefined, strict)).status).toBe(410);
    expect((await ask('/open', undefined, strict)).status).toBe(429);
    await strict.stop();
  });
});
