/** The impact endpoint reports who still uses a key before it is rotated or revoked, measured with real requests. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { send } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

/** Maximum time until uses are stored. Key uses are written every ten seconds. */
const WRITTEN_MS = 30_000;

let backend: Backend;
let gateway: SharedTrailgate;

beforeAll(async () => {
  backend = await startBackend(json({ data: [] }));
  gateway = await acquireTrailgate({ backend: backend.url });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

it("a key's impact shows its operations, used scopes, and the last use and address of its old secret", async () => {
  const { key } = await gateway.admin.newKey('unlimited', { scopes: ['customers:read', 'files:read'] });
  const rotated = await gateway.admin.rotateKey(key.id, 3_600);
  const call = async (secret: string) => {
    const headers = { Authorization: `Bearer ${secret}` };
    expect((await send(`${gateway.gatewayUrl}/api/v1/customers`, { headers })).status).toBe(200);
  };
  await call(key.secret);
  await call(key.secret);
  const impact = () => gateway.admin.call<Record<string, unknown>>('GET', `/api-keys/${key.id}/impact`);
  await eventually(
    'the use of the key is written',
    async () => (await impact())['last_day'] !== undefined && JSON.stringify(await impact()).includes('127.0.0.1'),
    WRITTEN_MS,
  );
  expect(await impact()).toEqual({
    api_key_id: key.id,
    last_day: {
      from: expect.any(String),
      to: expect.any(String),
      requests: 2,
      operations: [{ operation: 'listCustomers', requests: 2 }],
    },
    current_secret: { created_at: expect.any(String), last_used_at: null, last_used_ip: null },
    old_secret: {
      created_at: expect.any(String),
      expires_at: expect.any(String),
      last_used_at: expect.stringMatching(/^\d{4}-.*\+00:00$/),
      last_used_ip: '127.0.0.1',
    },
    scopes_since: expect.any(String),
    scopes_used: ['customers:read'],
    scopes_unused_30d: ['files:read'],
    oauth_grant: null,
  });
  await call(rotated.secret);
});

it('the impact of an unknown key is not found', async () => {
  expectProblem(await gateway.admin.request('GET', '/api-keys/key_none/impact'), 'resource_not_found');
});
