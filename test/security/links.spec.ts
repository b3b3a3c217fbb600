/** One-time links: each works once, before it expires, for its recipient. Reading a link does not use it up. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { createLink, type NewLink } from '../../src/members/links.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { GOOD_PASSWORD, memberWithPassword, newMember, PanelBrowser } from '../support/signed-in.js';

const HOUR_MS = 3_600_000;

describeOnDatabases('a link', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;

  beforeEach(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
  });
  afterEach(async () => {
    await running.close();
    await database.close();
  });

  const browser = () => new PanelBrowser(running.url);
  const linkOf = async (link: Omit<NewLink, 'createdBy' | 'lastsMs'>) => {
    const made = { createdBy: 'operator', lastsMs: HOUR_MS, ...link };
    return (await createLink(database.db, made, running.clock.now())).token;
  };
  const invitation = (email: string) =>
    linkOf({ kind: 'invitation', accountId, emailKey: email.toLowerCase(), role: 'admin', data: { email } });
  const take = (token: string, fields: object = {}, own = browser()) =>
    own.ask('POST', '/links/take', { token, ...fields });
  const newcomer = { name: 'Bea', password: GOOD_PASSWORD };
  const outcome = async (answer: Promise<{ status: number; json(): Record<string, unknown> }>) => {
    const { status, json } = await answer;
    return status === 200 ? 200 : json().code;
  };

  it('of npm start signs the demo operator in once, and another link signs in the same operator', async () => {
    const token = await running.members.firstOwner.startLink();
    const shown = await browser().call('POST', '/links/read', { token });
    expect(shown).toMatchObject({ kind: 'start', ways: [] });
    const own = browser();
    expect((await take(token, {}, own)).json()).toMatchObject({
      state: 'signed_in',
      me: { member: { is_operator: true } },
    });
    expect((await own.ask('GET', '/accounts')).status).toBe(200);
    expect(await outcome(take(token))).toBe('link_ended');
    const again = await running.members.firstOwner.startLink();
    expect(await outcome(take(again))).toBe(200);
    expect(await database.db.selectFrom('member').select('id').execute()).toHaveLength(1);
  });

  it('for the first owner exists until the demo operator has a password', async () => {
    const own = browser();
    await take(await running.members.firstOwner.startLink(), {}, own);
    expect(await running.members.firstOwner.createLink()).not.toBeNull();
    expect((await own.ask('PUT', '/me/password', { password: GOOD_PASSWORD })).status).toBe(204);
    expect(await running.members.firstOwner.createLink()).toBeNull();
  });

  it('for the first owner creates an operator with a password, until there is one', async () => {
    const first = (await running.members.firstOwner.createLink())!;
    const second = (await running.members.firstOwner.createLink())!;
    expect(await outcome(take(first, { email: 'ana@example.com', ...newcomer }))).toBe('link_ended');
    expect(await browser().call<object>('GET', '/sign-in')).toMatchObject({ first_owner: true, password: true });
    expect(await outcome(take(second, newcomer))).toBe('validation_failed');
    expect(await outcome(take(second, { email: 'no address', ...newcomer }))).toBe('validation_failed');
    expect(await outcome(take(second, { email: 'ana@example.com', name: 'Ana', password: 'short' }))).toBe(
      'validation_failed',
    );
    expect(await outcome(take(second, { email: 'ana@example.com', ...newcomer }))).toBe(200);
    expect(await running.members.firstOwner.createLink()).toBeNull();
    expect(await browser().call<object>('GET', '/sign-in')).toMatchObject({ first_owner: false });
    const own = browser();
    const me = await own.call<{ me: object }>('POST', '/sign-in/password', {
      email: 'ana@example.com',
      password: GOOD_PASSWORD,
    });
    expect(me.me).toMatchObject({ member: { is_operator: true, name: 'Bea' } });
  });

  it('of an invitation creates a member with its email, account and role only', async () => {
    const token = await invitation('Bea@Example.com');
    expect(await browser().call('POST', '/links/read', { token })).toMatchObject({
      kind: 'invitation',
      email: 'Bea@Example.com',
      role: 'admin',
      account_name: 'Isar Rafting',
      ways: ['password', 'sign_in'],
    });
    const own = browser();
    const answer = await take(token, { ...newcomer, email: 'someone.else@example.com' }, own);
    expect(answer.json()).toMatchObject({
      me: {
        member: { email: 'Bea@Example.com', is_operator: false },
        accounts: [{ id: accountId, role: 'admin' }],
      },
    });
    const other = await running.admin.createAccount({ plan: 'starter' });
    expect((await own.ask('GET', `/accounts/${other.id}`)).status).toBe(404);
    expect((await own.ask('GET', `/accounts/${accountId}/api-keys`)).status).toBe(200);
  });

  it('of an invitation for an existing member can be used only by that member', async () => {
    const member = await memberWithPassword(database, running, { email: 'bea@example.com' });
    const token = await invitation('bea@example.com');
    expect(await outcome(take(token, newcomer))).toBe('missing_credentials');
    const stranger = browser();
    const { email } = await memberWithPassword(database, running);
    await stranger.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    expect(await outcome(take(token, newcomer, stranger))).toBe('missing_credentials');
    const own = browser();
    await own.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    expect(await outcome(take(token, {}, own))).toBe(200);
    expect((await own.ask('GET', `/accounts/${accountId}`)).status).toBe(200);
    expect(await outcome(take(await invitation('bea@example.com'), {}, own))).toBe('already_a_member');
  });

  it('of a password reset sets the password and ends every session', async () => {
    const member = await memberWithPassword(database, running);
    const before = browser();
    await before.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    const token = await linkOf({ kind: 'password_reset', memberId: member.id });
    const password = 'nine quiet herons over the weir';
    expect(await outcome(take(token, { password }))).toBe(200);
    expect((await before.ask('GET', '/me')).json()).toMatchObject({ code: 'session_ended' });
    expect(
      await outcome(browser().ask('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD })),
    ).toBe('invalid_credentials');
    expect(await outcome(browser().ask('POST', '/sign-in/password', { email: member.email, password }))).toBe(200);
  });

  it('of an invitation neither confirms nor extends the session that uses it', async () => {
    const member = await memberWithPassword(database, running, { email: 'bea@example.com' });
    const own = browser();
    await own.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    const ends = () => database.db.selectFrom('member_session').select('ends_at').execute();
    const before = await ends();
    running.clock.advance(11 * 60_000);
    const sensitive = () => outcome(own.ask('PUT', '/me/password', { password: 'nine quiet herons over the weir' }));
    expect(await sensitive()).toBe('confirmation_required');
    const cookie = own.cookies.get('tg_session');
    expect(await outcome(take(await invitation('bea@example.com'), {}, own))).toBe(200);
    expect(await sensitive()).toBe('confirmation_required');
    expect(own.cookies.get('tg_session')).not.toBe(cookie);
    expect(await ends()).toEqual(before);
  });

  it('of a password reset ends with a password change, and so does a pending sign-in', async () => {
    const member = await memberWithPassword(database, running);
    const token = await linkOf({ kind: 'password_reset', memberId: member.id });
    const step = await running.members.steps.createStep('second_factor', member.id, { method: 'password' });
    const own = browser();
    await own.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    await own.call('PUT', '/me/password', { password: 'nine quiet herons over the weir' });
    expect(await outcome(browser().ask('POST', '/links/read', { token }))).toBe('link_ended');
    await expect(running.members.steps.countAttempt(step.token, 'second_factor')).rejects.toThrow(/Start over/);
  });

  it('of a password reset makes a concurrent sign-in with the old password fail', async () => {
    const { email, id } = await memberWithPassword(database, running);
    const token = await linkOf({ kind: 'password_reset', memberId: id });
    const { passwords } = running.members;
    const compare = passwords.check.bind(passwords);
    passwords.check = async (kept, typed) => {
      const verdict = await compare(kept, typed);
      expect(await outcome(take(token, { password: 'nine quiet herons over the weir' }))).toBe(200);
      return verdict;
    };
    const old = { email, password: GOOD_PASSWORD };
    expect(await outcome(browser().ask('POST', '/sign-in/password', old))).toBe('invalid_credentials');
    expect(await database.db.selectFrom('member_session').select('method').execute()).toEqual([{ method: 'link' }]);
  });

  it('of a portal starts a session of an hour in its account and role', async () => {
    const data = { scopes: ['customers:read'], label: 'Ana of Isar', return_url: 'https://app.example.com/keys' };
    const token = await linkOf({ kind: 'portal', accountId, role: 'viewer', data });
    const own = browser();
    expect((await take(token, {}, own)).json()).toMatchObject({
      me: { member: null, portal: { account_id: accountId, label: 'Ana of Isar', return_url: data.return_url } },
    });
    expect((await own.ask('GET', `/accounts/${accountId}/api-keys`)).status).toBe(200);
    expect((await own.ask('POST', `/accounts/${accountId}/api-keys`, { name: 'x', scopes: ['*'] })).status).toBe(403);
    for (let passed = 0; passed < 3; passed++) {
      running.clock.advance(19 * 60_000);
      expect((await own.ask('GET', '/me')).status).toBe(200);
    }
    running.clock.advance(4 * 60_000);
    expect((await own.ask('GET', '/me')).status).toBe(401);
  });

  it('that is used, revoked, expired or unknown gets the same error, for every path', async () => {
    const used = await invitation('one@example.com');
    expect(await outcome(take(used, newcomer))).toBe(200);
    const revoked = await invitation('two@example.com');
    await database.db.updateTable('link').set({ revoked_at: 1 }).where('email_key', '=', 'two@example.com').execute();
    const old = await invitation('three@example.com');
    running.clock.advance(HOUR_MS + 1);
    const disabled = await newMember(database);
    await database.db.updateTable('member').set({ status: 'disabled' }).where('id', '=', disabled).execute();
    const ofDisabled = await linkOf({ kind: 'password_reset', memberId: disabled });
    const texts = new Set<string>();
    for (const token of [used, revoked, old, 'A'.repeat(43), '', '\u{1f600}', 'x'.repeat(200)]) {
      for (const path of ['/links/read', '/links/take']) {
        const answer = await browser().ask('POST', path, { token, ...(path === '/links/take' ? newcomer : {}) });
        expect([token, path, answer.status]).toEqual([token, path, 410]);
        texts.add(answer.text.replace(/"request_id":"\w+"/, ''));
      }
      running.clock.advance(60_000);
    }
    expect(texts.size).toBe(1);
    expect(await outcome(take(ofDisabled, newcomer))).toBe('link_ended');
  });

  it('used four times at once creates one member', async () => {
    const token = await invitation('bea@example.com');
    const codes = await Promise.all(Array.from({ length: 4 }, () => outcome(take(token, newcomer))));
    expect(codes.filter((code) => code === 200)).toHaveLength(1);
    expect(await database.db.selectFrom('member').select('id').execute()).toHaveLength(1);
  });

  it('of a portal used four times at once starts one session', async () => {
    const data = { scopes: null, label: 'Ana', return_url: 'https://app.example.com/' };
    const token = await linkOf({ kind: 'portal', accountId, role: 'viewer', data });
    const codes = await Promise.all(Array.from({ length: 4 }, () => outcome(take(token, {}))));
    expect(codes.toSorted()).toEqual([200, 'link_ended', 'link_ended', 'link_ended']);
    expect(await database.db.selectFrom('member_session').select('id').execute()).toHaveLength(1);
  });

  it('is not used up by a GET, by reading it, or by a rejected password', async () => {
    const token = await invitation('bea@example.com');
    await browser().ask('GET', `/links/take?token=${token}`);
    for (let look = 0; look < 3; look++) await browser().call('POST', '/links/read', { token });
    expect(await outcome(take(token, { name: 'Bea', password: 'bea@example.com bea' }))).toBe('validation_failed');
    expect(await outcome(take(token, { name: 'Bea' }))).toBe('validation_failed');
    expect(await outcome(take(token, newcomer))).toBe(200);
  });

  it('has its token neither in the table of links nor in the log', async () => {
    const token = await invitation('bea@example.com');
    await take(token, newcomer);
    const rows = JSON.stringify(await database.db.selectFrom('link').selectAll().execute());
    expect(rows + running.log.join('')).not.toContain(token);
  });

  it('can be guessed twenty times a minute from one network', async () => {
    const codes = [];
    for (let guess = 0; guess < 21; guess++) codes.push(await outcome(take('A'.repeat(43), newcomer)));
    expect(codes.at(-2)).toBe('link_ended');
    expect(codes.at(-1)).toBe('too_many_failed_attempts');
  });
});
