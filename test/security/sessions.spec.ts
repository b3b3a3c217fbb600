/** Sessions: their cookies, duration and end, and that only their hashes are stored. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { openMembers } from '../../src/members/sign-in/open-members.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { GOOD_PASSWORD, memberWithPassword, newMember, PanelBrowser, signIn } from '../support/signed-in.js';

const MINUTE_MS = 60_000;

describeOnDatabases('a session', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const browser = () => new PanelBrowser(running.url);
  const signedIn = async (roles = {}) => {
    const member = await memberWithPassword(database, running, { roles });
    const own = browser();
    await own.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    return { ...member, browser: own };
  };
  const codeOf = async (own: PanelBrowser) => {
    const answer = await own.ask('GET', '/me');
    return [answer.status, answer.status === 200 ? '' : answer.json().code];
  };

  it('starts with HttpOnly cookies that are SameSite=Lax', async () => {
    const { email } = await memberWithPassword(database, running);
    const answer = await browser().ask('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    expect(answer.status).toBe(200);
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(/^tg_session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/),
      expect.stringMatching(/^tg_known=[A-Za-z0-9_.-]+; Path=\/; Max-Age=15552000; HttpOnly; SameSite=Lax$/),
    ]);
    expect(answer.json()).toMatchObject({ state: 'signed_in', me: { member: { email, has_password: true } } });
  });

  it('has Secure cookies with the prefix __Host- behind an HTTPS URL, and accepts no cookie without the prefix', async () => {
    const secure = await startAdmin(database, { settings: { url: 'https://admin.example.com' } });
    try {
      const { email } = await memberWithPassword(database, secure);
      const own = new PanelBrowser(secure.url);
      const answer = await own.ask('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
      expect(answer.headers['set-cookie']).toEqual([
        expect.stringMatching(/^__Host-tg_session=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax$/),
        expect.stringMatching(/^__Host-tg_known=[\w.-]+; Path=\/; Max-Age=\d+; Secure; HttpOnly; SameSite=Lax$/),
      ]);
      expect(await codeOf(own)).toEqual([200, '']);
      const plain = new PanelBrowser(secure.url);
      plain.cookies.set('tg_session', own.cookies.get('__Host-tg_session') ?? '');
      expect(await codeOf(plain)).toEqual([401, 'missing_credentials']);
      // Browsers ignore a deletion without the attributes that the prefix requires.
      const ended = await own.ask('POST', '/sign-out');
      expect(ended.headers['set-cookie']).toEqual([
        '__Host-tg_session=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax',
      ]);
    } finally {
      await secure.close();
    }
  });

  it('gets a new secret with each sign-in, and the previous session of the browser ends', async () => {
    const { browser: own, email } = await signedIn();
    const before = own.cookies.get('tg_session') ?? '';
    await own.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    expect(own.cookies.get('tg_session')).not.toBe(before);
    const old = browser();
    old.cookies.set('tg_session', before);
    expect(await codeOf(old)).toEqual([401, 'session_ended']);
    expect(await codeOf(own)).toEqual([200, '']);
  });

  it('does not reuse a secret from a planted cookie (session fixation)', async () => {
    const { email } = await memberWithPassword(database, running);
    const planted = browser();
    planted.cookies.set('tg_session', 'A'.repeat(43));
    await planted.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    expect(planted.cookies.get('tg_session')).not.toBe('A'.repeat(43));
  });

  it('ends after half an hour without requests, and continues with requests', async () => {
    const { browser: own } = await signedIn();
    for (let half = 0; half < 4; half++) {
      running.clock.advance(20 * MINUTE_MS);
      expect(await codeOf(own)).toEqual([200, '']);
    }
    running.clock.advance(31 * MINUTE_MS);
    const answer = await own.ask('GET', '/me');
    expect([answer.status, answer.json().code]).toEqual([401, 'session_ended']);
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="trailgate-admin"');
    // Clearing it here could delete the new cookie of someone who has signed in meanwhile.
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it('is not extended by background polling', async () => {
    const { browser: own } = await signedIn();
    running.clock.advance(20 * MINUTE_MS);
    expect((await own.ask('GET', '/me', undefined, { 'X-Unattended': '1' })).status).toBe(200);
    running.clock.advance(11 * MINUTE_MS);
    expect(await codeOf(own)).toEqual([401, 'session_ended']);
  });

  it('ends after twelve hours, even with requests', async () => {
    const { browser: own } = await signedIn();
    for (let passed = 0; passed < 12 * 60 - 20; passed += 20) {
      running.clock.advance(20 * MINUTE_MS);
      await own.ask('GET', '/me');
    }
    expect(await codeOf(own)).toEqual([200, '']);
    running.clock.advance(20 * MINUTE_MS + 1);
    expect(await codeOf(own)).toEqual([401, 'session_ended']);
  });

  it('ends on sign-out, also on another node, with an audit entry', async () => {
    const { browser: own, id } = await signedIn();
    const cookie = own.cookies.get('tg_session') ?? '';
    const { keyStore: keys, quotas } = running.modules;
    const parts = { keys, windows: quotas.throttleWindows, operatorToken: ADMIN_TOKEN };
    const other = openMembers(running.modules, parts);
    expect(await other.sessions.findSession(cookie)).toBeDefined();
    const answer = await own.ask('POST', '/sign-out');
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(await other.sessions.findSession(cookie)).toBeUndefined();
    expect(own.cookies.has('tg_session')).toBe(false);
    const entries = database.db.selectFrom('audit_entry').select(['actor', 'before']);
    const signedOut = entries.where('action', '=', 'session.signed_out').where('actor', '=', id);
    expect(await signedOut.execute()).toEqual([{ actor: id, before: JSON.stringify({ member: id }) }]);
  });

  it('ends at the next request of a disabled member, who cannot sign in again', async () => {
    const { browser: own, id, email } = await signedIn();
    await database.db.updateTable('member').set({ status: 'disabled' }).where('id', '=', id).execute();
    expect(await codeOf(own)).toEqual([401, 'session_ended']);
    const again = await browser().ask('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    expect([again.status, again.json().code]).toEqual([401, 'invalid_credentials']);
  });

  it('loses a removed role at the next request, and continues', async () => {
    const account = await running.admin.createAccount({ plan: 'starter' });
    const { browser: own, id } = await signedIn({ [account.id]: 'admin' });
    expect((await own.ask('GET', `/accounts/${account.id}`)).status).toBe(200);
    await database.db.deleteFrom('account_member').where('member_id', '=', id).execute();
    expect((await own.ask('GET', `/accounts/${account.id}`)).status).toBe(404);
    expect(await codeOf(own)).toEqual([200, '']);
  });

  it('is not accepted from two cookies or from a malformed one', async () => {
    const { browser: own } = await signedIn();
    const cookie = own.cookies.get('tg_session') ?? '';
    const twice = await browser().ask('GET', '/me', undefined, {
      Cookie: `tg_session=${cookie}; tg_session=${cookie}`,
    });
    expect([twice.status, twice.json().code]).toEqual([401, 'missing_credentials']);
    for (const value of [`${cookie}x`, cookie.slice(1), `"${cookie}"`, 'A'.repeat(43), '%00', 'ü']) {
      const answer = await browser().ask('GET', '/me', undefined, { Cookie: `tg_session=${value}` });
      expect([value, answer.status, answer.json().code]).toEqual([value, 401, 'session_ended']);
    }
  });

  it('has its cookie value neither in its table nor in the log or responses', async () => {
    const { browser: own, id } = await signedIn();
    const cookie = own.cookies.get('tg_session') ?? '';
    const answers = await Promise.all([own.ask('GET', '/me'), running.admin.request('GET', '/audit-log?limit=100')]);
    const rows = await database.db.selectFrom('member_session').selectAll().execute();
    const said = JSON.stringify(rows) + running.log.join('') + answers.map(({ text }) => text).join('');
    expect(said).toContain(id);
    expect(said).not.toContain(cookie);
  });

  it('updates its last use once a minute, not with every request', async () => {
    const cookie = (await signIn(running, await newMember(database)))['Cookie']!.slice('tg_session='.length);
    const { id } = (await running.members.sessions.findSession(cookie))!.session;
    const seenAt = async () =>
      (
        await database.db
          .selectFrom('member_session')
          .select('last_seen_at')
          .where('id', '=', id)
          .executeTakeFirstOrThrow()
      ).last_seen_at;
    const begun = await seenAt();
    running.clock.advance(59_000);
    await running.members.sessions.findSession(cookie);
    expect(await seenAt()).toBe(begun);
    running.clock.advance(2_000);
    await running.members.sessions.findSession(cookie);
    expect(await seenAt()).toBe(begun + 61_000);
  });
});
