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

  it('is not mentioned where no date is set', async () => {
    trailgate = await startTrailgate();
    const answer = await send(`${trailgate.gatewayUrl}/api/v1/customers`);
    expect(answer.status).toBe(401);
    expect(answer.headers['deprecation']).toBeUndefined();
    expect(answer.headers['sunset']).toBeUndefined();
  });
});
