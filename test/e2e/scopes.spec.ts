/** Scopes of a key: deny by default, wildcards, and a 403 that names the missing scopes. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Account } from '../support/admin.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { send, type Answer } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

/** Operations: method, path and required scopes. */
const OPERATIONS = [
  ['GET', '/customers', ['customers:read']],
  ['HEAD', '/customers', ['customers:read']],
  ['POST', '/customers', ['customers:write']],
  ['GET', '/customers/7', ['customers:read']],
  ['PUT', '/customers/7', ['customers:write']],
  ['PATCH', '/customers/7', ['customers:write']],
  ['DELETE', '/customers/7', ['customers:write']],
  ['GET', '/files/a', ['files:read']],
  ['PUT', '/files/a', ['files:write']],
  ['POST', '/export', ['customers:read', 'files:write']],
  ['GET', '/open', []],
] as const;

let backend: Backend;
let gateway: SharedTrailgate;
let account: Account;

beforeAll(async () => {
  backend = await startBackend(json({ data: [] }));
  const operations = [{ match: 'POST /export', service: 'backend', scopes: ['customers:read', 'files:write'] }];
  gateway = await acquireTrailgate({ backend: backend.url, config: { operations } });
  account = await gateway.admin.createAccount({ plan: 'starter' });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

async function secretWith(...scopes: string[]): Promise<string> {
  return (await gateway.admin.createKey(account.id, { scopes })).secret;
}

function call(secret: string, method: string, path: string): Promise<Answer> {
  return send(`${gateway.gatewayUrl}/api/v1${path}`, { method, headers: { Authorization: `Bearer ${secret}` } });
}

/** Reports whether scopes suffice, according to the documentation. */
function granted(scopes: readonly string[], needed: readonly string[]): boolean {
  return needed.every((scope) => scopes.some((one) => [scope, `${scope.split(':')[0]}:*`, '*'].includes(one)));
}

describe('scopes', () => {
  it.each([
    [['customers:read']],
    [['customers:write']],
    [['customers:*']],
    [['files:read', 'files:write']],
    [['customers:read', 'files:*']],
    [['*']],
  ])('a key with %j reaches exactly its operations, and no other request reaches the backend', async (scopes) => {
    // Uses an account without limits, which other tests cover.
    const own = await gateway.admin.createAccount();
    const { secret } = await gateway.admin.createKey(own.id, { scopes });
    for (const [method, path, needed] of OPERATIONS) {
      const before = backend.requests.length;
      const answer = await call(secret, method, path);
      const allowed = granted(scopes, needed);
      expect([method, path, answer.status]).toEqual([method, path, allowed ? 200 : 403]);
      expect(backend.requests.length - before).toBe(allowed ? 1 : 0);
    }
  });

  it('a 403 names the missing scopes, and its WWW-Authenticate lists all required scopes', async () => {
    const answer = await call(await secretWith('customers:read'), 'POST', '/export');
    const problem = expectProblem(answer, 'insufficient_scope');
    expect(problem).toMatchObject({ missing_scopes: ['files:write'] });
    expect(problem.detail).toContain('files:write');
    expect(problem.detail).not.toContain('customers:read');
    expect(answer.headers['www-authenticate']).toBe(
      'Bearer realm="api", error="insufficient_scope", scope="customers:read files:write"',
    );
  });

  it('a 403 costs nothing and has rate limit fields', async () => {
    const secret = await secretWith('files:read');
    for (let round = 0; round < 3; round++) {
      const answer = await call(secret, 'GET', '/customers');
      expectProblem(answer, 'insufficient_scope');
      expect(answer.headers['ratelimit']).toMatch(/^"key-minute";r=60;t=\d+, "account-minute"/);
    }
  });

  it('an operation with scopes: [] requires a key, but no scope', async () => {
    expect((await call(await secretWith('files:read'), 'GET', '/open')).status).toBe(200);
    expectProblem(await send(`${gateway.gatewayUrl}/api/v1/open`), 'missing_api_key');
  });

  it('a path or method that is not configured is not reachable with any scope', async () => {
    const secret = await secretWith('*');
    const before = backend.requests.length;
    for (const path of ['/tours', '/customers/7/notes', '/health', '/', '/Customers', '/customers/']) {
      expect([400, 404]).toContain((await call(secret, 'GET', path)).status);
    }
    expectProblem(await call(secret, 'DELETE', '/customers'), 'method_not_allowed');
    expect(backend.requests.length).toBe(before);
  });

  it('the backend receives the scopes of the key, and a client cannot add to them', async () => {
    const secret = await secretWith('files:read', 'customers:read');
    const headers = { Authorization: `Bearer ${secret}`, 'X-Api-Scopes': '*', x_api_scopes: '*' };
    await send(`${gateway.gatewayUrl}/api/v1/customers`, { headers });
    const seen = backend.requests.at(-1)?.rawHeaders ?? [];
    const scopes = seen.filter((_, index) => seen[index - 1]?.toLowerCase().replaceAll('_', '-') === 'x-api-scopes');
    expect(scopes).toEqual(['customers:read files:read']);
  });

  it('a key cannot be created with a scope that no operation has', async () => {
    const answer = await gateway.admin.request('POST', `/accounts/${account.id}/api-keys`, {
      name: 'k',
      scopes: ['customers:read', 'tours:read'],
    });
    const problem = expectProblem(answer, 'validation_failed');
    expect(problem.errors).toEqual([expect.objectContaining({ pointer: '#/scopes/1' })]);
  });
});
