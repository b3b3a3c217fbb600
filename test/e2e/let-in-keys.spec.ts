/** A key by which an OAuth client was let in says which client it is, where that is at home, and who did it. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createApiKeySchema } from '../../src/accounts/api-key-fields.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { accountToken, newMember, portalSession, signIn, type Credentials } from '../support/signed-in.js';
import { OPERATOR } from '../support/stores.js';

const CLAUDE = 'https://claude.ai/oauth/mcp-oauth-client-metadata';

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly oauth_client: { readonly host: string | null; readonly let_in_by: string | null } | null;
}

describeOnDatabases('a key that an OAuth client was let in by', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;
  let memberId: string;
  let operators: Credentials;

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
    memberId = await newMember(database, { roles: { [accountId]: 'admin' } });
    operators = { Authorization: `Bearer ${running.admin.token}` };
    await running.admin.createKey(accountId, { name: 'Widget', scopes: ['customers:read'] });
    await letIn('Claude', CLAUDE, memberId);
    await letIn('Trip planner', 'kV8aqLxw0Tn3', null);
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const letIn = async (name: string, clientId: string, by: string | null) => {
    const input = createApiKeySchema.parse({ name, scopes: ['customers:read'] });
    return running.rooms.keyStore.createForClient(accountId, input, { id: clientId, name, memberId: by }, OPERATOR);
  };
  const list = async (headers: Credentials, query = ''): Promise<readonly Shown[]> => {
    const url = `${running.admin.url}/admin/v1/accounts/${accountId}/api-keys${query}`;
    return (await send(url, { headers })).json<{ data: Shown[] }>().data;
  };
  const clients = (keys: readonly Shown[]) => keys.map(({ name, oauth_client: client }) => [name, client]);

  it('stands in the list with its host, and with the name of the member', async () => {
    expect(clients(await list(await signIn(running, memberId)))).toEqual([
      ['Widget', null],
      ['Claude', { id: CLAUDE, name: 'Claude', host: 'claude.ai', let_in_by: 'Ana' }],
      ['Trip planner', { id: 'kV8aqLxw0Tn3', name: 'Trip planner', host: null, let_in_by: null }],
    ]);
  });

  it('is found by itself, and is left out where keys with a secret are asked for', async () => {
    const names = async (query: string) => (await list(operators, query)).map(({ name }) => name);
    expect(await names('?oauth_client=true')).toEqual(['Claude', 'Trip planner']);
    expect(await names('?oauth_client=true&q=trip')).toEqual(['Trip planner']);
    expect(await names('?oauth_client=false')).toEqual(['Widget']);
    const url = `${running.admin.url}/admin/v1/accounts/${accountId}/api-keys?oauth_client=`;
    expect((await send(`${url}yes`, { headers: operators })).status).toBe(400);
    const first = (await send(`${url}true&limit=1`, { headers: operators })).json<{ next_cursor: string }>();
    const next = `&limit=1&cursor=${first.next_cursor}`;
    expect((await send(`${url}true${next}`, { headers: operators })).json()).toMatchObject({
      data: [{ name: 'Trip planner' }],
    });
    expect((await send(`${url}false${next}`, { headers: operators })).status).toBe(400);
  });

  it('is found by the member who let it in, and by nobody else', async () => {
    const names = async (headers: Credentials, id: string) =>
      (await list(headers, `?let_in_by=${id}`)).map(({ name }) => name);
    const another = await newMember(database, { roles: { [accountId]: 'admin' } });
    expect(await names(await signIn(running, another), memberId)).toEqual(['Claude']);
    expect(await names(operators, another)).toEqual([]);
    const portal = await portalSession(running, accountId, 'owner');
    expect(await names(portal, memberId)).toEqual([]);
    const url = `${running.admin.url}/admin/v1/accounts/${accountId}/api-keys?let_in_by=`;
    expect((await send(`${url}Ana`, { headers: operators })).status).toBe(400);
  });

  it('says the same on its own, also after it was changed', async () => {
    const [, { id }] = (await list(operators)) as [Shown, Shown];
    const client = { host: 'claude.ai', let_in_by: 'Ana' };
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/pause'],
      ['POST', '/resume'],
    ] as const) {
      const shown = await running.admin.call<Shown>(method, `/api-keys/${id}${path}`);
      expect([path, shown.oauth_client]).toEqual([path, expect.objectContaining(client)]);
    }
  });

  it('names nobody to a portal session, which sees no members, and does to a token', async () => {
    const by = async (headers: Credentials) =>
      (await list(headers, '?oauth_client=true')).map(({ oauth_client: client }) => client?.let_in_by);
    expect(await by(await portalSession(running, accountId, 'owner'))).toEqual([null, null]);
    expect(await by(await accountToken(running, accountId, 'viewer'))).toEqual(['Ana', null]);
  });

  it('names nobody any more who was forgotten', async () => {
    const other = await newMember(database, { roles: { [accountId]: 'admin' } });
    const { id } = await letIn('Old', 'old', other);
    await running.admin.call('PATCH', `/api-keys/${id}`, { name: 'Renamed' });
    expect((await running.admin.call<Shown>('GET', `/api-keys/${id}`)).oauth_client?.let_in_by).toBe('Ana');
    await running.members.forgetting.forget(other, OPERATOR);
    expect((await running.admin.call<Shown>('GET', `/api-keys/${id}`)).oauth_client?.let_in_by).toBeNull();
  });
});
