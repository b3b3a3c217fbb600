/** The API key of an authorized OAuth client shows the client, its host, and the member who authorized it. */
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
  readonly oauth_client: { readonly host: string | null; readonly authorized_by: string | null } | null;
}

describeOnDatabases('the API key of an authorized OAuth client', (kind) => {
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
    await authorize('Claude', CLAUDE, memberId);
    await authorize('Trip planner', 'kV8aqLxw0Tn3', null);
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const authorize = async (name: string, clientId: string, by: string | null) => {
    const input = createApiKeySchema.parse({ name, scopes: ['customers:read'] });
    return running.modules.keyStore.createForClient(accountId, input, { id: clientId, name, memberId: by }, OPERATOR);
  };
  const list = async (headers: Credentials, query = ''): Promise<readonly Shown[]> => {
    const url = `${running.admin.url}/admin/v1/accounts/${accountId}/api-keys${query}`;
    return (await send(url, { headers })).json<{ data: Shown[] }>().data;
  };
  const clients = (keys: readonly Shown[]) => keys.map(({ name, oauth_client: client }) => [name, client]);

  it('is listed with the host of the client and the name of the member who authorized it', async () => {
    expect(clients(await list(await signIn(running, memberId)))).toEqual([
      ['Widget', null],
      ['Claude', { id: CLAUDE, name: 'Claude', host: 'claude.ai', authorized_by: 'Ana' }],
      ['Trip planner', { id: 'kV8aqLxw0Tn3', name: 'Trip planner', host: null, authorized_by: null }],
    ]);
  });

  it('is included or excluded by the oauth_client filter, also across pages', async () => {
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

  it('is found by the ID of the member who authorized it, but not in a portal session', async () => {
    const names = async (headers: Credentials, id: string) =>
      (await list(headers, `?authorized_by=${id}`)).map(({ name }) => name);
    const another = await newMember(database, { roles: { [accountId]: 'admin' } });
    expect(await names(await signIn(running, another), memberId)).toEqual(['Claude']);
    expect(await names(operators, another)).toEqual([]);
    const portal = await portalSession(running, accountId, 'owner');
    expect(await names(portal, memberId)).toEqual([]);
    const url = `${running.admin.url}/admin/v1/accounts/${accountId}/api-keys?authorized_by=`;
    expect((await send(`${url}Ana`, { headers: operators })).status).toBe(400);
  });

  it('shows the same client when it is read, paused or resumed', async () => {
    const [, { id }] = (await list(operators)) as [Shown, Shown];
    const client = { host: 'claude.ai', authorized_by: 'Ana' };
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/pause'],
      ['POST', '/resume'],
    ] as const) {
      const shown = await running.admin.call<Shown>(method, `/api-keys/${id}${path}`);
      expect([path, shown.oauth_client]).toEqual([path, expect.objectContaining(client)]);
    }
  });

  it('names the member to an account token, but not to a portal session', async () => {
    const by = async (headers: Credentials) =>
      (await list(headers, '?oauth_client=true')).map(({ oauth_client: client }) => client?.authorized_by);
    expect(await by(await portalSession(running, accountId, 'owner'))).toEqual([null, null]);
    expect(await by(await accountToken(running, accountId, 'viewer'))).toEqual(['Ana', null]);
  });

  it('no longer names a member whose data was erased', async () => {
    const other = await newMember(database, { roles: { [accountId]: 'admin' } });
    const { id } = await authorize('Old', 'old', other);
    await running.admin.call('PATCH', `/api-keys/${id}`, { name: 'Renamed' });
    expect((await running.admin.call<Shown>('GET', `/api-keys/${id}`)).oauth_client?.authorized_by).toBe('Ana');
    await running.members.erasure.eraseMember(other, OPERATOR);
    expect((await running.admin.call<Shown>('GET', `/api-keys/${id}`)).oauth_client?.authorized_by).toBeNull();
  });
});
