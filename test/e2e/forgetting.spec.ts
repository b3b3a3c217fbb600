/** A deleted member is no longer named anywhere, cannot sign in, and leaves no account without an owner. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { deleteExpiredSignIns } from '../../src/members/housekeeping.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { GOOD_PASSWORD, memberWithPassword, newMember, PanelBrowser } from '../support/signed-in.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

describeOnDatabases('a member', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;
  let count = 0;

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const ask = async (method: string, path: string, body?: object) => {
    const answer = await running.admin.request(method, path, body);
    return [answer.status, answer.status < 400 ? undefined : answer.json().code];
  };
  const forget = async (id: string) => (await running.admin.request('DELETE', `/members/${id}`)).status;
  /** Creates a member with an accepted invitation, a session, an identity, a password link and audit log entries. */
  async function createMember() {
    const email = `zenobia-${++count}@palmyra.example`;
    const invited = { email, role: 'viewer' };
    const { link } = await running.admin.call<{ link: string }>('POST', `/accounts/${accountId}/invitations`, invited);
    const own = new PanelBrowser(running.url);
    const taken = { token: link.split('#')[1], name: 'Zenobia Septimia', password: GOOD_PASSWORD };
    const { me } = await own.call<{ me: { member: { id: string } } }>('POST', '/links/take', taken);
    const { id } = me.member;
    await own.call('PATCH', '/me', { name: 'Zenobia the Great', locale: 'es' });
    const at = running.clock.now();
    const identity = {
      issuer: 'https://idp.example',
      subject: id,
      member_id: id,
      email,
      created_at: at,
      last_used_at: at,
    };
    await database.db.insertInto('member_identity').values(identity).execute();
    await running.admin.call('POST', `/members/${id}/password-reset-links`);
    return { id, email, own };
  }
  /** Returns all stored rows about members as text. */
  async function stored(): Promise<string> {
    const tables = [
      'member',
      'member_identity',
      'member_passkey',
      'member_session',
      'link',
      'mail',
      'audit_entry',
    ] as const;
    const rows = tables.map((table) => database.db.selectFrom(table).selectAll().execute());
    return JSON.stringify(await Promise.all(rows));
  }

  it('who is deleted leaves no name or address, cannot sign in, and is anonymous in the audit log', async () => {
    const { id, email, own } = await createMember();
    expect(await stored()).toMatch(/zenobia/i);
    expect(await forget(id)).toBe(200);
    expect(await stored()).not.toMatch(/zenobia/i);
    expect((await own.ask('GET', '/me')).json()).toMatchObject({ code: 'session_ended' });
    const signIn = { email, password: GOOD_PASSWORD };
    expect((await new PanelBrowser(running.url).ask('POST', '/sign-in/password', signIn)).status).toBe(401);
    const byId = { email: id, password: GOOD_PASSWORD };
    expect((await new PanelBrowser(running.url).ask('POST', '/sign-in/password', byId)).status).toBe(401);
    for (const [method, body] of [['GET'], ['PATCH', { status: 'active' }]] as const) {
      expect(await ask(method, `/members/${id}`, body)).toEqual([404, 'resource_not_found']);
    }
    expect(await running.admin.request('GET', '/members?limit=100').then(({ text }) => text)).not.toContain(id);
    const entries = await database.db.selectFrom('audit_entry').selectAll().where('target_id', '=', id).execute();
    const actions = entries.map(({ action }) => action);
    expect(actions).toEqual(expect.arrayContaining(['member.created', 'member.joined', 'member.forgotten']));
    expect(entries.find(({ action }) => action === 'member.updated')).toMatchObject({
      actor: id,
      actor_label: null,
      after: expect.stringContaining('"name":null'),
    });
    // Deleting the member again succeeds, and another member can get the address.
    expect(await forget(id)).toBe(200);
    const again = { email, name: 'Odaenathus', is_operator: false };
    const somebody = await running.admin.request('POST', '/members', again);
    expect(somebody.status).toBe(201);
    expect(await forget(String(somebody.json().id))).toBe(200);
  });

  it('is erased even if the links of their invitations are gone, and other people are not', async () => {
    const { id, email } = await createMember();
    const { id: other } = await running.admin.createAccount({ plan: 'starter' });
    for (const invited of [email.toUpperCase(), 'vaballathus@palmyra.example']) {
      const invitation = { email: invited, role: 'viewer' };
      await running.admin.call('POST', `/accounts/${other}/invitations`, invitation);
    }
    running.clock.advance(60 * DAY_MS);
    await deleteExpiredSignIns(database, running.clock);
    expect(await database.db.selectFrom('link').select('id').execute()).toEqual([]);
    expect(await forget(id)).toBe(200);
    const text = await stored();
    expect(text).not.toMatch(/zenobia/i);
    expect(text).toContain('vaballathus@palmyra.example');
  });

  it('is erased as a whole or not at all', async () => {
    const { id } = await createMember();
    const { id: owned } = await running.admin.createAccount({ plan: 'starter' });
    const times = { version: 1, created_at: running.clock.now(), updated_at: running.clock.now() };
    const membership = { account_id: owned, member_id: id, role: 'owner' as const, ...times };
    await database.db.insertInto('account_member').values(membership).execute();
    const before = await stored();
    expect(before).toMatch(/zenobia/i);
    expect(await ask('DELETE', `/members/${id}`)).toEqual([409, 'last_owner']);
    expect(await stored()).toBe(before);
    await newMember(database, { roles: { [owned]: 'owner' } });
    expect(await forget(id)).toBe(200);
    expect(await stored()).not.toMatch(/zenobia/i);
  });

  it('who is the last owner of an account is not deleted, and keeps their password', async () => {
    const { id: owned } = await running.admin.createAccount({ plan: 'starter' });
    const { id } = await memberWithPassword(database, running, { roles: { [accountId]: 'viewer', [owned]: 'owner' } });
    expect(await ask('DELETE', `/members/${id}`)).toEqual([409, 'last_owner']);
    expect((await running.admin.call<{ has_password: boolean }>('GET', `/members/${id}`)).has_password).toBe(true);
    await newMember(database, { roles: { [owned]: 'owner' } });
    expect(await Promise.all([forget(id), forget(id)])).toEqual([200, 200]);
    const entries = database.db.selectFrom('audit_entry').select('id').where('action', '=', 'member.forgotten');
    expect(await entries.where('target_id', '=', id).execute()).toHaveLength(1);
  });

  it('stays if the only two owners of an account are deleted at once, which succeeds for the other', async () => {
    const { id: owned } = await running.admin.createAccount({ plan: 'starter' });
    const owners = [await newMember(database, { roles: { [owned]: 'owner' } })];
    owners.push(await newMember(database, { roles: { [owned]: 'owner' } }));
    expect((await Promise.all(owners.map(forget))).toSorted()).toEqual([200, 409]);
  });

  it('cannot be deleted by an owner of their account, or by an operator without confirmation', async () => {
    const { id } = await createMember();
    const owner = await memberWithPassword(database, running, { roles: { [accountId]: 'owner' } });
    const operator = await memberWithPassword(database, running, { isOperator: true });
    const paths = [`/members/${id}/second-factor`, `/members/${id}`];
    for (const [{ email }, code, statuses] of [
      [owner, 'forbidden', [403, 403]],
      [operator, 'confirmation_required', [204, 200]],
    ] as const) {
      const own = new PanelBrowser(running.url);
      await own.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
      running.clock.advance(11 * MINUTE_MS);
      for (const path of paths) expect((await own.ask('DELETE', path)).json()).toMatchObject({ code });
      expect((await running.admin.request('GET', `/members/${id}`)).status).toBe(200);
      await own.call('POST', '/confirmations', { password: GOOD_PASSWORD });
      const confirmed = [];
      for (const path of paths) confirmed.push((await own.ask('DELETE', path)).status);
      expect([email, confirmed]).toEqual([email, statuses]);
    }
    expect((await running.admin.request('GET', `/members/${id}`)).status).toBe(404);
  });

  it('can sign in with the password alone after an operator removed the second factor', async () => {
    const { id, email } = await memberWithPassword(database, running);
    await database.db
      .updateTable('member')
      .set({ totp_secret: 'sealed', totp_confirmed_at: 1 })
      .where('id', '=', id)
      .execute();
    await database.db.insertInto('recovery_code').values({ hash: id, member_id: id, used_at: null }).execute();
    const signIn = async () => {
      const own = new PanelBrowser(running.url);
      return (await own.ask('POST', '/sign-in/password', { email, password: GOOD_PASSWORD })).json().state;
    };
    expect(await signIn()).toBe('second_factor');
    for (let time = 0; time < 2; time++) {
      expect(await ask('DELETE', `/members/${id}/second-factor`)).toEqual([204, undefined]);
    }
    expect(await signIn()).toBe('signed_in');
    const codes = database.db.selectFrom('recovery_code').select('hash').where('member_id', '=', id);
    expect(await codes.execute()).toEqual([]);
    const entries = database.db.selectFrom('audit_entry').select(['actor', 'action']).where('target_id', '=', id);
    expect(await entries.where('action', '=', 'member.totp_removed').execute()).toEqual([
      { actor: 'operator', action: 'member.totp_removed' },
    ]);
    expect(await ask('DELETE', '/members/mem_none/second-factor')).toEqual([404, 'resource_not_found']);
  });

  it('can leave an account in any role except as its last owner, and cannot leave other accounts', async () => {
    const { id: shared } = await running.admin.createAccount({ plan: 'starter' });
    for (const role of ['viewer', 'admin', 'owner'] as const) {
      const { email } = await memberWithPassword(database, running, { roles: { [shared]: role } });
      const own = new PanelBrowser(running.url);
      await own.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
      expect((await own.ask('DELETE', `/me/accounts/${accountId}`)).json()).toMatchObject({
        code: 'resource_not_found',
      });
      const left = await own.ask('DELETE', `/me/accounts/${shared}`);
      expect([role, left.status]).toEqual([role, role === 'owner' ? 409 : 200]);
      expect((await own.ask('GET', `/accounts/${shared}`)).status).toBe(role === 'owner' ? 200 : 404);
    }
    const log = await running.admin.call<{ data: { action: string }[] }>('GET', `/audit-log?account_id=${shared}`);
    expect(log.data.filter(({ action }) => action === 'member.left')).toHaveLength(2);
  });
});
