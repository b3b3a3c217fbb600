/** Authentication with API keys: which requests are admitted, and what a refusal reveals. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ErrorCode } from '../../src/platform/problems/errors.js';
import { createSecret } from '../../src/keys/api-key-format.js';
import type { Account, ApiKeyWithSecret, NewApiKey } from '../support/admin.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { send, type Answer, type SendOptions } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const BARE_CHALLENGE = 'Bearer realm="api"';
const TRUSTED_PROXY = '127.0.0.1';

let backend: Backend;
let gateway: SharedTrailgate;
let account: Account;
let key: ApiKeyWithSecret;

beforeAll(async () => {
  backend = await startBackend(json({ data: [] }));
  gateway = await acquireTrailgate({ backend: backend.url });
  ({ account, key } = await gateway.admin.newKey());
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

const bearer = (secret: string) => ({ Authorization: `Bearer ${secret}` });
const call = (headers: NonNullable<SendOptions['headers']>, path = '/api/v1/customers', running = gateway) =>
  send(running.gatewayUrl + path, { headers });

/** Expects a refusal with this code and without rate limit fields. */
function expectRefused(answer: Answer, code: ErrorCode): void {
  expectProblem(answer, code);
  expect(Object.keys(answer.headers).filter((name) => name.includes('ratelimit'))).toEqual([]);
}

describe('without a usable key', () => {
  it('no Authorization header is 401 missing_api_key with a bare challenge', async () => {
    const answer = await call({});
    expectRefused(answer, 'missing_api_key');
    expect(answer.headers['www-authenticate']).toBe(BARE_CHALLENGE);
  });

  it('another scheme is 401 missing_api_key with a bare challenge', async () => {
    const answer = await call({ Authorization: `Basic ${Buffer.from(`x:${key.secret}`).toString('base64')}` });
    expectRefused(answer, 'missing_api_key');
    expect(answer.headers['www-authenticate']).toBe(BARE_CHALLENGE);
  });

  it.each([
    ['junk', 'junk'],
    ['a key with a wrong checksum', createSecret('live').slice(0, -1)],
    ['a well-formed key that was never made', createSecret('live')],
    ['a well-formed test key that was never made', createSecret('test')],
    ['an oversized token', 'a'.repeat(8_000)],
  ])('%s is 401 invalid_api_key with error="invalid_token"', async (_what, token) => {
    const answer = await call(bearer(token));
    expectRefused(answer, 'invalid_api_key');
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="api", error="invalid_token", error_desc/);
    expect(answer.text).not.toContain(token);
  });

  it('a live secret with the test prefix is invalid, and a test secret with the live prefix', async () => {
    const testKey = await gateway.admin.createKey(account.id, { environment: 'test' });
    expectRefused(await call(bearer(key.secret.replace('tg_live_', 'tg_test_'))), 'invalid_api_key');
    expectRefused(await call(bearer(testKey.secret.replace('tg_test_', 'tg_live_'))), 'invalid_api_key');
  });

  it('two Authorization headers with the same valid key are 400 malformed_authorization', async () => {
    const twice = ['Authorization', `Bearer ${key.secret}`, 'authorization', `Bearer ${key.secret}`];
    const answer = await call(twice);
    expectRefused(answer, 'malformed_authorization');
    expect(answer.headers['www-authenticate']).toContain('error="invalid_request"');
  });

  it('a valid key in the query is 401 missing_api_key, and 400 next to an Authorization header', async () => {
    const path = `/api/v1/customers?api_key=${key.secret}`;
    expectRefused(await call({}, path), 'missing_api_key');
    expectRefused(await call(bearer(key.secret), path), 'malformed_authorization');
  });

  it('a valid key in other headers is 401 missing_api_key', async () => {
    const headers = {
      'X-Api-Key': key.secret,
      Cookie: `api_key=${key.secret}`,
      'Proxy-Authorization': `Bearer ${key.secret}`,
    };
    expectRefused(await call(headers), 'missing_api_key');
  });

  it('a valid key in the body is 401 missing_api_key', async () => {
    const body = { api_key: key.secret, access_token: key.secret };
    expectRefused(await send(`${gateway.gatewayUrl}/api/v1/customers`, { method: 'POST', body }), 'missing_api_key');
  });

  it('an empty or malformed Authorization header is 401', async () => {
    for (const value of ['', 'Bearer', 'Bearer ', ' ', ',', 'Bearer ,', 'Bearer \u00e9']) {
      expect((await call({ Authorization: value })).status).toBe(401);
    }
  });

  it('the operator token of the admin API is 401 invalid_api_key', async () => {
    expectRefused(await call(bearer(gateway.adminToken)), 'invalid_api_key');
  });

  it('none of these requests reaches the backend', () => {
    expect(backend.requests).toEqual([]);
  });

  it('unknown paths are 404 instead of 401', async () => {
    expectProblem(await call({}, '/api/v1/nothing'), 'route_not_found');
    expectProblem(await call({}, '/'), 'route_not_found');
  });
});

describe('a valid key', () => {
  it('is 401 expired_api_key once it has expired', async () => {
    const expiresAtMs = Date.now() + 1_500;
    const expires = { expires_at: new Date(expiresAtMs).toISOString() };
    const { secret } = await gateway.admin.createKey(account.id, expires);
    expect((await call(bearer(secret))).status).toBe(200);
    await eventually('the key has expired', () => Date.now() >= expiresAtMs);
    const answer = await call(bearer(secret));
    expectRefused(answer, 'expired_api_key');
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
  });

  it('is 401 revoked_api_key at the first request after its revocation', async () => {
    const made = await gateway.admin.createKey(account.id);
    expect((await call(bearer(made.secret))).status).toBe(200);
    await gateway.admin.revokeKey(made.id);
    const answer = await call(bearer(made.secret));
    expectRefused(answer, 'revoked_api_key');
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
  });

  it('is 403 account_suspended while its account is suspended', async () => {
    const other = await gateway.admin.newKey();
    expect((await call(bearer(other.key.secret))).status).toBe(200);
    await gateway.admin.updateAccount(other.account.id, { status: 'suspended' });
    expectRefused(await call(bearer(other.key.secret)), 'account_suspended');
    expect((await call(bearer(key.secret))).status).toBe(200);
    await gateway.admin.updateAccount(other.account.id, { status: 'active' });
    expect((await call(bearer(other.key.secret))).status).toBe(200);
  });

  it('needs no scope for /usage, but is refused there after its revocation', async () => {
    const made = await gateway.admin.createKey(account.id, { scopes: ['files:read'] });
    expect((await call(bearer(made.secret), '/api/v1/usage')).status).toBe(200);
    await gateway.admin.revokeKey(made.id);
    expectRefused(await call(bearer(made.secret), '/api/v1/usage'), 'revoked_api_key');
    expectRefused(await call({}, '/api/v1/usage'), 'missing_api_key');
  });
});

describe('live and test keys', () => {
  it('both work, differ in their prefix, and reach the backend as a key ID without the secret', async () => {
    const made = await gateway.admin.createKey(account.id, { environment: 'test' });
    expect(made).toMatchObject({ environment: 'test', secret: expect.stringMatching(/^tg_test_[0-9A-Za-z]{36}$/) });
    expect(key.secret).toMatch(/^tg_live_[0-9A-Za-z]{36}$/);
    const before = backend.requests.length;
    for (const secret of [made.secret, key.secret]) expect((await call(bearer(secret))).status).toBe(200);
    const seen = backend.requests.slice(before);
    expect(seen.map(({ headers }) => headers['x-api-key-id'])).toEqual([made.id, key.id]);
    expect(seen.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
  });
});

describe('a key with allowed_ips', () => {
  const keyFrom = (...allowed: string[]): Promise<ApiKeyWithSecret> =>
    gateway.admin.createKey(account.id, { allowed_ips: allowed } satisfies NewApiKey);

  it('works from a listed address, and is 403 ip_not_allowed from any other', async () => {
    expect((await call(bearer((await keyFrom('127.0.0.0/8')).secret))).status).toBe(200);
    const answer = await call(bearer((await keyFrom('192.0.2.0/24', '2001:db8::/32')).secret));
    expectRefused(answer, 'ip_not_allowed');
    expect(answer.json()['detail']).toContain('127.0.0.1');
  });

  it('ignores X-Forwarded-For and similar headers of an untrusted peer', async () => {
    const { secret } = await keyFrom('192.0.2.7');
    for (const name of [
      'X-Forwarded-For',
      'Forwarded',
      'X-Real-IP',
      'X-Client-IP',
      'True-Client-IP',
      'CF-Connecting-IP',
    ]) {
      const value = name === 'Forwarded' ? 'for=192.0.2.7' : '192.0.2.7';
      expectRefused(await call({ ...bearer(secret), [name]: value }), 'ip_not_allowed');
    }
  });

  it('follows a change of the list at the next request', async () => {
    const made = await keyFrom('192.0.2.7');
    expectRefused(await call(bearer(made.secret)), 'ip_not_allowed');
    await gateway.admin.updateKey(made.id, { allowed_ips: [] });
    expect((await call(bearer(made.secret))).status).toBe(200);
  });

  describe('behind a trusted proxy', () => {
    let proxied: SharedTrailgate;
    let secret: string;
    beforeAll(async () => {
      proxied = await acquireTrailgate({
        backend: backend.url,
        config: { gateway: { trustedProxies: [TRUSTED_PROXY] } },
      });
      ({ secret } = (await proxied.admin.newKey('unlimited', { allowed_ips: ['192.0.2.7'] })).key);
    });
    afterAll(() => proxied.stop());
    const from = (forwarded: string) =>
      call({ ...bearer(secret), 'X-Forwarded-For': forwarded }, '/api/v1/customers', proxied);

    it('is checked against the address that the proxy reports', async () => {
      expect((await from('192.0.2.7')).status).toBe(200);
      expectRefused(await from('192.0.2.8'), 'ip_not_allowed');
    });

    it('is checked against the address that the proxy added, not those that the client sent', async () => {
      expectRefused(await from('192.0.2.7, 203.0.113.5'), 'ip_not_allowed');
      expect((await from('203.0.113.5, 192.0.2.7')).status).toBe(200);
    });

    it('does not pass invalid X-Forwarded-For values on to the backend', async () => {
      const { key } = await proxied.admin.newKey('unlimited');
      for (const junk of ['1.1.1.1;by=evil";proto=https', 'unknown', '_hidden']) {
        const answer = await call({ ...bearer(key.secret), 'X-Forwarded-For': junk }, '/api/v1/customers', proxied);
        expect(answer.status).toBe(200);
        const received = backend.requests.at(-1)!;
        expect(received.headers['x-forwarded-for']).toBe('127.0.0.1');
        expect(received.headers['forwarded']).toMatch(/^for=127\.0\.0\.1;host="[^"]+";proto=http$/);
      }
    });

    it('is refused if the reported address is invalid', async () => {
      for (const junk of ['unknown', '', '192.0.2.7:80, x', '"192.0.2.7"'])
        expectRefused(await from(junk), 'ip_not_allowed');
    });
  });
});
