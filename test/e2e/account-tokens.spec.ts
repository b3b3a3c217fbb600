/** Account tokens for programs: permissions, expiration, allowed addresses and secrecy. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { newMember, signIn } from '../support/signed-in.js';

interface Token {
  readonly id: string;
  readonly secret: string;
  readonly hint: string;
  readonly status: string;
  readonly last_used_at: string | null;
}

const DAY_MS = 86_400_000;

describeOnDatabases('an account token', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const inDays = (days: number) => new Date(running.clock.now() + days * DAY_MS).toISOString();
  const newToken = (fields: object = {}) =>
    running.admin.call<Token>('POST', `/accounts/${accountId}/tokens`, {
      name: 'CI',
      role: 'admin',
      expires_at: inDays(30),
      ...fields,
    });
  const listKeysWith = (secret: string, more: Record<string, string> = {}) =>
    send(`${running.url}/admin/v1/accounts/${accountId}/api-keys`, {
      headers: { Authorization: `Bearer ${secret}`, ...more },
    });
  const expectInvalid = async (secret: string) => {
    running.clock.advance(61_000);
    const answer = await listKeysWith(secret);
    expect([answer.status, answer.json().code]).toEqual([401, 'invalid_credentials']);
    return String(answer.json().detail);
  };

  it('has its secret shown once and never stored, and reports when it was last used', async () => {
    const { secret, hint, id } = await newToken();
    expect(secret).toMatch(/^tga_[0-9A-Za-z]{36}$/);
    expect(hint).toBe(`tga_…${secret.slice(-4)}`);
    expect((await listKeysWith(secret)).status).toBe(200);
    const list = await running.admin.request('GET', `/accounts/${accountId}/tokens?limit=100`);
    expect(list.text).not.toContain(secret);
    expect(list.json<{ data: Token[] }>().data.find((token) => token.id === id)?.last_used_at).not.toBeNull();
    const rows = await database.db.selectFrom('account_token').selectAll().execute();
    const log = await running.admin.request('GET', `/audit-log?account_id=${accountId}&limit=100`);
    expect(JSON.stringify(rows) + log.text + running.log.join('')).not.toContain(secret);
    expect(log.text).toContain('account_token.created');
  });

  it('gets the same error text whether it is wrong, revoked or expired', async () => {
    const revoked = await newToken();
    await running.admin.call('DELETE', `/accounts/${accountId}/tokens/${revoked.id}`);
    const expired = await newToken({ expires_at: inDays(1) });
    running.clock.advance(DAY_MS);
    const { secret } = await newToken();
    const wrongChecksum = `${secret.slice(0, -1)}${secret.endsWith('0') ? '1' : '0'}`;
    const texts = new Set<string>();
    for (const each of [revoked.secret, expired.secret, wrongChecksum, 'tga_', `${secret}x`])
      texts.add(await expectInvalid(each));
    expect(texts.size).toBe(1);
    expect((await listKeysWith(secret)).status).toBe(200);
  });

  it('is accepted until the moment of its expiration, and refused from then on', async () => {
    const { id, secret } = await newToken({ expires_at: inDays(1) });
    const statusShown = async () => {
      const list = await running.admin.call<{ data: Token[] }>('GET', `/accounts/${accountId}/tokens?limit=100`);
      return list.data.find((token) => token.id === id)?.status;
    };
    running.clock.advance(DAY_MS - 1);
    expect([(await listKeysWith(secret)).status, await statusShown()]).toEqual([200, 'active']);
    running.clock.advance(1);
    expect([(await listKeysWith(secret)).status, await statusShown()]).toEqual([401, 'expired']);
  });

  it('is refused from an address outside its allowed_ips', async () => {
    const { secret } = await newToken({ allowed_ips: ['192.0.2.0/24'] });
    const answer = await listKeysWith(secret);
    expect([answer.status, answer.json().code]).toEqual([403, 'forbidden']);
    const near = await newToken({ allowed_ips: ['127.0.0.0/8'] });
    expect((await listKeysWith(near.secret)).status).toBe(200);
  });

  it('cannot be created for more than 366 days, with a past expiration, or with the owner role', async () => {
    for (const fields of [{ expires_at: inDays(367) }, { expires_at: inDays(-1) }, { role: 'owner' }]) {
      const body = { name: 'CI', role: 'admin', expires_at: inDays(30), ...fields };
      const answer = await running.admin.request('POST', `/accounts/${accountId}/tokens`, body);
      expect([answer.status, answer.json().code]).toEqual([422, 'validation_failed']);
    }
  });

  it('takes precedence over a session cookie, even if the member has more permissions', async () => {
    const { secret } = await newToken({ role: 'viewer' });
    const memberId = await newMember(database, { isOperator: true });
    const session = await signIn(running, memberId);
    const answer = await send(`${running.url}/admin/v1/accounts`, {
      method: 'POST',
      headers: { ...session, Authorization: `Bearer ${secret}` },
      body: { name: 'x', plan: 'starter' },
    });
    expect([answer.status, answer.json().required_roles]).toEqual([403, ['operator']]);
    expect((await listKeysWith('tga_junk', session)).status).toBe(401);
  });

  it('lists only its own account', async () => {
    await running.admin.createAccount({ plan: 'starter' });
    const { secret } = await newToken({ role: 'viewer' });
    const answer = await send(`${running.url}/admin/v1/accounts`, { headers: { Authorization: `Bearer ${secret}` } });
    expect(answer.json<{ data: { id: string }[] }>().data.map(({ id }) => id)).toEqual([accountId]);
  });

  it('gets 400 for the audit log without account_id', async () => {
    const { secret } = await newToken();
    const answer = await send(`${running.url}/admin/v1/audit-log`, { headers: { Authorization: `Bearer ${secret}` } });
    expect([answer.status, answer.json().code]).toEqual([400, 'invalid_parameter']);
  });

  it('can read but not change a suspended account', async () => {
    const account = await running.admin.createAccount({ plan: 'starter' });
    const secret = (
      await running.admin.call<Token>('POST', `/accounts/${account.id}/tokens`, {
        name: 'CI',
        role: 'admin',
        expires_at: inDays(1),
      })
    ).secret;
    await running.admin.updateAccount(account.id, { status: 'suspended' });
    const ask = (method: string, path: string, body?: object) =>
      send(`${running.url}/admin/v1/accounts/${account.id}${path}`, {
        method,
        headers: { Authorization: `Bearer ${secret}` },
        ...(body === undefined ? {} : { body }),
      });
    expect((await ask('GET', '/api-keys')).status).toBe(200);
    const refused = await ask('POST', '/api-keys', { name: 'x', scopes: ['*'] });
    expect([refused.status, refused.json().code]).toEqual([403, 'account_suspended']);
  });
});
