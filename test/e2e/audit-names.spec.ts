/** The audit log shows names of resources and people, not only their IDs. Runs on SQLite and PostgreSQL. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { GOOD_PASSWORD, memberWithPassword, newMember, PanelBrowser } from '../support/signed-in.js';

interface Entry {
  readonly action: string;
  readonly actor: string;
  readonly actor_label: string | null;
  readonly target: { readonly type: string; readonly id: string; readonly name: string | null };
}

describeOnDatabases('an audit log entry', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
    accountId = (await running.admin.createAccount({ plan: 'starter', name: 'Isar Rafting' })).id;
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const entriesOf = async (targetId: string): Promise<Entry[]> => {
    const { data } = await running.admin.auditLog(`?account_id=${accountId}&limit=100`);
    return (data as unknown as Entry[]).filter(({ target }) => target.id === targetId);
  };
  const namesOf = async (targetId: string) => (await entriesOf(targetId)).map(({ target }) => target.name);

  it('shows the current name of a key, also for changes made under an earlier name', async () => {
    const key = await running.admin.createKey(accountId, { name: 'Shop', scopes: ['customers:read'] });
    await running.admin.call('PATCH', `/api-keys/${key.id}`, { name: 'Shop in Graz' });
    await running.admin.revokeKey(key.id);
    expect(await namesOf(key.id)).toEqual(['Shop in Graz', 'Shop in Graz', 'Shop in Graz']);
    expect(await namesOf(accountId)).toEqual(['Isar Rafting']);
  });

  it('shows the names of its actor and target until those members are deleted', async () => {
    const { id, email } = await memberWithPassword(database, running, { roles: { [accountId]: 'owner' } });
    const other = await newMember(database, { roles: { [accountId]: 'viewer' } });
    await newMember(database, { roles: { [accountId]: 'owner' } });
    await database.db.updateTable('member').set({ name: 'Benedikt' }).where('id', '=', other).execute();
    const own = new PanelBrowser(running.url);
    await own.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    await own.call('PATCH', `/accounts/${accountId}/members/${other}`, { role: 'admin' });
    const changed = async () => {
      const entry = (await entriesOf(other)).find(({ action }) => action === 'member.role_changed');
      return [entry?.actor, entry?.actor_label, entry?.target.name];
    };
    expect(await changed()).toEqual([id, 'Ana', 'Benedikt']);
    // Old entries have no stored label, and show the current name of the member.
    await database.db.updateTable('audit_entry').set({ actor_label: null }).where('actor', '=', id).execute();
    expect(await changed()).toEqual([id, 'Ana', 'Benedikt']);
    for (const each of [other, id]) await running.admin.call('DELETE', `/members/${each}`);
    expect(await changed()).toEqual([id, null, null]);
  });

  it('shows the name of a token, and the URL of an endpoint without its query string', async () => {
    const expires = new Date(running.clock.now() + 3_600_000).toISOString();
    const wanted = { name: 'Nightly export', role: 'admin', expires_at: expires };
    const token = await running.admin.call<{ id: string }>('POST', `/accounts/${accountId}/tokens`, wanted);
    expect(await namesOf(token.id)).toEqual(['Nightly export']);
    const url = 'https://shop.example.com/hooks?token=s3cret';
    const path = `/accounts/${accountId}/webhook-endpoints`;
    const endpoint = await running.admin.call<{ id: string }>('POST', path, { url });
    expect(await namesOf(endpoint.id)).toEqual(['https://shop.example.com/hooks?…']);
    await running.admin.call('DELETE', `/webhook-endpoints/${endpoint.id}`);
    expect(new Set(await namesOf(endpoint.id)).size).toBe(1);
  });
});
