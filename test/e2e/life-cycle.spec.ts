/** A version with dates says when it ends, and ends then. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { json, startBackend } from '../support/backend.js';
import { send } from '../support/http.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

let trailgate: RunningTrailgate;
afterEach(() => trailgate?.stop());

describe('the life cycle of a version', () => {
  it('is told in Deprecation, Sunset and Link while the version still answers', async () => {
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

  it('ends with 410, which still carries the dates and reaches no backend', async () => {
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

  it('can be of one operation: its own dates, its successor, its brown-out, and nothing of it elsewhere', async () => {
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
      `trailgate_deprecated_requests_total{operation="listCustomers",account_id="${account.id}"} 1`,
    );
    const page = await (await fetch(`${trailgate.gatewayUrl}/docs/versioning`)).text();
    expect(page).toContain('<td><code>GET /customers</code></td><td>2026-01-01</td><td>2099-01-01</td>');
    await backend.stop();
  });

  it('is not mentioned where no date is set', async () => {
    trailgate = await startTrailgate();
    const answer = await send(`${trailgate.gatewayUrl}/api/v1/customers`);
    expect(answer.status).toBe(401);
    expect(answer.headers['deprecation']).toBeUndefined();
    expect(answer.headers['sunset']).toBeUndefined();
  });
});
