/** Actions of operators: add members, disable them, end their sessions, reset passwords, and manage portal sessions. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { deleteExpiredSignIns } from '../../src/members/housekeeping.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { eventually } from '../support/processes.js';
import { GOOD_PASSWORD, memberWithPassword, PanelBrowser } from '../support/signed-in.js';

interface Member {
  readonly id: string;
  readonly is_operator: boolean;
  readonly password_link: { readonly link: string | null };
}

const DAY_MS = 86_400_000;

describeOnDatabases('operators', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let withMail: RunningAdmin;

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database, { settings: { portal: { returnOrigins: ['https://app.example.com'] } } });
    withMail = await startAdmin(database, {
      settings: { mail: { url: 'smtp://localhost', from: 'no-reply@example.com' } },
    });
  });
  afterAll(async () => {
    await running.close();
    await withMail.close();
    await database.close();
  });

  const tokenOf = (link: string | null) => String(link).split('#')[1];
  const take = (token: string | undefined, fields: object = {}, own = new PanelBrowser(running.url)) =>
    own.ask('POST', '/links/take', { token, ...fields });
  const signedIn = async () => {
    const member = await memberWithPassword(database, running);
    const own = new PanelBrowser(running.url);
    await own.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    return { ...member, own };
  };

  it('add a member, who chooses a password by a link that is shown once', async () => {
    const body = { email: 'gil@example.com', name: 'Gil', is_operator: true };
    const made = await running.admin.call<Member>('POST', '/members', body);
    expect(
      (await running.admin.request('POST', '/members', { ...body, email: 'GIL@example.com' })).json(),
    ).toMatchObject({
      code: 'already_a_member',
    });
    const own = new PanelBrowser(running.url);
    expect((await take(tokenOf(made.password_link.link), { password: GOOD_PASSWORD }, own)).status).toBe(200);
    expect((await own.ask('GET', '/members')).status).toBe(200);
    expect((await running.admin.request('GET', `/members/${made.id}`)).text).not.toMatch(/argon2|link/);
  });

  it('disable a member, who loses access at once, and enable the member again', async () => {
    const { id, email, own } = await signedIn();
    await running.admin.call('PATCH', `/members/${id}`, { status: 'disabled' });
    expect((await own.ask('GET', '/me')).json()).toMatchObject({ code: 'session_ended' });
    await running.admin.call('PATCH', `/members/${id}`, { status: 'active' });
    expect((await own.ask('GET', '/me')).status).toBe(401);
    expect((await own.ask('POST', '/sign-in/password', { email, password: GOOD_PASSWORD })).status).toBe(200);
  });

  it('must sign in again when they get the role, and are refused after they lose it', async () => {
    const { id, email, own } = await signedIn();
    await running.admin.call('PATCH', `/members/${id}`, { is_operator: true });
    expect((await own.ask('GET', '/members')).json()).toMatchObject({ code: 'session_ended' });
    await own.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    expect((await own.ask('GET', '/members')).status).toBe(200);
    await running.admin.call('PATCH', `/members/${id}`, { is_operator: false });
    expect((await own.ask('GET', '/members')).json()).toMatchObject({ code: 'session_ended' });
    await own.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    expect((await own.ask('GET', '/members')).json()).toMatchObject({
      code: 'forbidden',
      required_roles: ['operator'],
    });
  });

  it.each<[string, (id: string) => Promise<unknown>]>([
    ['disabled', (id) => running.admin.call('PATCH', `/members/${id}`, { status: 'disabled' })],
    ['deleted', (id) => running.admin.call('DELETE', `/members/${id}`)],
    ['signed out by another operator', (id) => running.admin.call('DELETE', `/members/${id}/sessions`)],
    [
      'given a new password by a reset link',
      async (id) => {
        const { link } = await running.admin.call<{ link: string }>('POST', `/members/${id}/password-reset-links`);
        return await take(tokenOf(link), { password: 'nine quiet herons over the weir' });
      },
    ],
  ])('who are %s are refused at the next request in every browser', async (_how, change) => {
    const { id, email } = await memberWithPassword(database, running, { isOperator: true });
    const browsers = [new PanelBrowser(running.url), new PanelBrowser(running.url)];
    for (const own of browsers) {
      await own.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
      expect((await own.ask('GET', '/members')).status).toBe(200);
    }
    await change(id);
    for (const own of browsers) {
      const refused = await own.ask('GET', '/members');
      expect([refused.status, refused.json().code]).toEqual([401, 'session_ended']);
    }
  });

  it('see the sessions of a member, and end all of them', async () => {
    const { id, own } = await signedIn();
    const { data } = await running.admin.call<{ data: object[] }>('GET', `/members/${id}/sessions`);
    expect(data).toMatchObject([{ current: false, method: 'password' }]);
    await running.admin.call('DELETE', `/members/${id}/sessions`);
    expect((await own.ask('GET', '/me')).status).toBe(401);
    expect((await running.admin.request('DELETE', `/members/mem_${'0'.repeat(25)}/sessions`)).status).toBe(404);
  });

  it('create a password reset link, which ends the previous one', async () => {
    const { id, own } = await signedIn();
    const first = await running.admin.call<{ link: string }>('POST', `/members/${id}/password-reset-links`);
    const second = await running.admin.call<{ link: string }>('POST', `/members/${id}/password-reset-links`);
    const password = 'nine quiet herons over the weir';
    expect((await take(tokenOf(first.link), { password })).status).toBe(410);
    // The session ends when the link is used, not when it is created.
    expect((await own.ask('GET', '/me')).status).toBe(200);
    expect((await take(tokenOf(second.link), { password })).status).toBe(200);
    expect((await own.ask('GET', '/me')).json()).toMatchObject({ code: 'session_ended' });
  });

  it('get no link in a response if mail is configured, because the link is sent by mail', async () => {
    const account = await withMail.admin.createAccount({ plan: 'starter' });
    const invitation = await withMail.admin.call<{ id: string; link: null }>(
      'POST',
      `/accounts/${account.id}/invitations`,
      {
        email: 'hal@example.com',
        role: 'viewer',
      },
    );
    expect(invitation.link).toBeNull();
    const { id } = await memberWithPassword(database, withMail);
    expect(await withMail.admin.call('POST', `/members/${id}/password-reset-links`)).toMatchObject({ link: null });
    const waiting = await database.db.selectFrom('mail').select(['to_address', 'state']).execute();
    expect(waiting).toContainEqual({ to_address: 'hal@example.com', state: 'waiting' });
    expect(await new PanelBrowser(withMail.url).call('GET', '/sign-in')).toMatchObject({ mail: true });
  });

  it('a forgotten password gets the same response for every address, but only a member gets one mail', async () => {
    const { id, email } = await memberWithPassword(database, withMail);
    await database.db.updateTable('member').set({ email_verified_at: 1 }).where('id', '=', id).execute();
    const browser = new PanelBrowser(withMail.url);
    const answers = [];
    for (const name of [email, email, 'nobody@example.org'])
      answers.push(await browser.ask('POST', '/password-resets', { email: name }));
    expect(answers.map(({ status, text }) => [status, text])).toEqual(Array(3).fill([202, '{}']));
    const mails = () => database.db.selectFrom('mail').select('id').where('to_address', '=', email).execute();
    await eventually('a mail is waiting', async () => (await mails()).length > 0);
    expect(await mails()).toHaveLength(1);
    const none = await database.db
      .selectFrom('mail')
      .select('id')
      .where('to_address', '=', 'nobody@example.org')
      .execute();
    expect(none).toEqual([]);
  });

  it('create portal sessions with a return URL at configured origins only', async () => {
    const account = await running.admin.createAccount({ plan: 'starter' });
    const body = { account_id: account.id, role: 'admin', member_name: 'Ana of Isar' };
    for (const url of [
      'https://evil.example/',
      'https://app.example.com.evil.example/',
      'https://app.example.com@evil.example/',
      'javascript:alert(1)',
      '//app.example.com/',
    ]) {
      const refused = await running.admin.request('POST', '/portal-sessions', { ...body, return_url: url });
      expect([url, refused.status]).toEqual([url, 422]);
    }
    const made = await running.admin.call<{ url: string }>('POST', '/portal-sessions', {
      ...body,
      return_url: 'https://app.example.com/keys',
    });
    const own = new PanelBrowser(running.url);
    expect((await take(tokenOf(made.url), {}, own)).status).toBe(200);
    expect((await own.ask('GET', `/accounts/${account.id}/api-keys`)).status).toBe(200);
    const log = await running.admin.auditLog(`?account_id=${account.id}`);
    expect(log.data.map(({ action }) => action)).toContain('portal_session.created');
  });

  it('create portal sessions that cannot grant other scopes by a new key, a change or a rotation', async () => {
    const { account, key } = await running.admin.newKey('starter');
    const { url } = await running.admin.call<{ url: string }>('POST', '/portal-sessions', {
      account_id: account.id,
      role: 'admin',
      scopes: ['customers:read'],
      return_url: 'https://app.example.com/',
    });
    const own = new PanelBrowser(running.url);
    await take(tokenOf(url), {}, own);
    const create = (scopes: readonly string[]) =>
      own.ask('POST', `/accounts/${account.id}/api-keys`, { name: 'x', scopes });
    for (const scope of ['*', 'customers:write', 'customers:*']) {
      const refused = await create(['customers:read', scope]);
      expect([scope, refused.status, refused.json().missing_scopes]).toEqual([scope, 403, [scope]]);
    }
    const made = await create(['customers:read']);
    expect(made.status).toBe(201);
    const id = String(made.json().id);
    expect((await own.ask('PATCH', `/api-keys/${id}`, { scopes: ['*'] })).status).toBe(403);
    expect((await own.ask('POST', `/api-keys/${key.id}/rotate`, { overlap_seconds: 0 })).status).toBe(403);
    expect((await own.ask('POST', `/api-keys/${id}/rotate`, { overlap_seconds: 0 })).status).toBe(201);
    expect((await own.ask('PATCH', `/api-keys/${id}`, { name: 'y' })).status).toBe(200);
  });

  it('revoke all portal sessions of an account, used or not, but none of another account', async () => {
    const body = { role: 'viewer', return_url: 'https://app.example.com/' };
    const accounts = [
      await running.admin.createAccount({ plan: 'starter' }),
      await running.admin.createAccount({ plan: 'starter' }),
    ];
    const browsers = [];
    for (const { id } of accounts) {
      const { url } = await running.admin.call<{ url: string }>('POST', '/portal-sessions', {
        ...body,
        account_id: id,
      });
      const own = new PanelBrowser(running.url);
      await take(tokenOf(url), {}, own);
      browsers.push(own);
    }
    const [first, second] = accounts;
    const unused = await running.admin.call<{ url: string }>('POST', '/portal-sessions', {
      ...body,
      account_id: first?.id,
    });
    await running.admin.call('DELETE', `/accounts/${first?.id}/portal-sessions`);
    expect((await browsers[0]!.ask('GET', '/me')).status).toBe(401);
    expect((await take(tokenOf(unused.url))).status).toBe(410);
    expect((await browsers[1]!.ask('GET', `/accounts/${second?.id}`)).status).toBe(200);
  });

  it('keep valid sessions in a cleanup, which deletes expired sessions, and links a month later', async () => {
    const { own } = await signedIn();
    const account = await running.admin.createAccount({ plan: 'starter' });
    await running.admin.call('POST', `/accounts/${account.id}/invitations`, { email: 'i@example.com', role: 'viewer' });
    const count = async (table: 'member_session' | 'link') =>
      (await database.db.selectFrom(table).select('hash').execute()).length;
    await deleteExpiredSignIns(database, running.clock);
    expect((await own.ask('GET', '/me')).status).toBe(200);
    running.clock.advance(DAY_MS);
    await deleteExpiredSignIns(database, running.clock);
    expect(await count('member_session')).toBe(0);
    expect(await count('link')).toBeGreaterThan(0);
    running.clock.advance(40 * DAY_MS);
    expect(await deleteExpiredSignIns(database, running.clock)).toBeGreaterThan(0);
    expect(await count('link')).toBe(0);
  });
});
