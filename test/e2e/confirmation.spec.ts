/** Sensitive actions require confirmation once the last confirmation is ten minutes old. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { codeAt, fromBase32, wrongCodeAt } from '../support/authenticator-app.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { GOOD_PASSWORD, memberWithPassword, PanelBrowser } from '../support/signed-in.js';

const MINUTE_MS = 60_000;

describeOnDatabases('confirmation', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;
  let own: PanelBrowser;
  let member: { readonly id: string; readonly email: string };

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });
  beforeEach(async () => {
    member = await memberWithPassword(database, running, { roles: { [accountId]: 'owner' } });
    own = new PanelBrowser(running.url);
    await own.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
  });

  const createKey = (browser = own) =>
    browser.ask('POST', `/accounts/${accountId}/api-keys`, { name: 'x', scopes: ['*'] });

  it('is required from ten minutes after sign-in, with the methods that the member has', async () => {
    running.clock.advance(10 * MINUTE_MS - 1);
    expect((await createKey()).status).toBe(201);
    running.clock.advance(1);
    const refused = await createKey();
    expect([refused.status, refused.json()]).toEqual([
      403,
      expect.objectContaining({ code: 'confirmation_required', confirm_with: ['password'] }),
    ]);
    // Reading requires no confirmation.
    expect((await own.ask('GET', `/accounts/${accountId}/api-keys`)).status).toBe(200);
    await own.call('POST', '/confirmations', { password: GOOD_PASSWORD });
    expect((await createKey()).status).toBe(201);
  });

  it('from a clock that was ahead does not count once the clock is corrected', async () => {
    const { clock } = running;
    clock.advance(24 * 60 * MINUTE_MS);
    const ahead = new PanelBrowser(running.url);
    await ahead.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    clock.advance(-24 * 60 * MINUTE_MS);
    const refused = await createKey(ahead);
    expect([refused.status, refused.json().code]).toEqual([403, 'confirmation_required']);
    await ahead.call('POST', '/confirmations', { password: GOOD_PASSWORD });
    expect((await createKey(ahead)).status).toBe(201);
  });

  it('with the password allows the action for ten more minutes in the same session', async () => {
    running.clock.advance(11 * MINUTE_MS);
    const cookie = own.cookies.get('tg_session');
    const shown = await own.ask('POST', '/confirmations', { password: GOOD_PASSWORD });
    expect(shown.status).toBe(200);
    const until = new Date(running.clock.now() + 10 * MINUTE_MS).toISOString().slice(0, 19);
    expect(String(shown.json().confirmed_until)).toContain(until);
    expect(own.cookies.get('tg_session')).toBe(cookie);
    expect((await createKey()).status).toBe(201);
    running.clock.advance(10 * MINUTE_MS);
    expect((await createKey()).status).toBe(403);
  });

  it('with a wrong password fails, keeps the session, and is limited to ten attempts', async () => {
    running.clock.advance(11 * MINUTE_MS);
    const statuses = [];
    for (let guess = 0; guess < 11; guess++)
      statuses.push((await own.ask('POST', '/confirmations', { password: 'x' })).status);
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429]);
    const limited = await own.ask('POST', '/confirmations', { password: GOOD_PASSWORD });
    expect(limited.status).toBe(429);
    expect((await own.ask('GET', '/me')).status).toBe(200);
    expect((await createKey()).status).toBe(403);
    running.clock.advance(Number(limited.headers['retry-after']) * 1_000);
    expect((await own.ask('POST', '/confirmations', { password: GOOD_PASSWORD })).status).toBe(200);
    expect((await createKey()).status).toBe(201);
  });

  it('requires both the password and an unused TOTP code from a member who has TOTP', async () => {
    const { clock } = running;
    const { secret: text } = await own.call<{ secret: string }>('POST', '/me/totp');
    const secret = fromBase32(text);
    await own.call('POST', '/me/totp/confirm', { code: codeAt(secret, clock.now()) });
    clock.advance(11 * MINUTE_MS);
    const remove = async () => {
      const answer = await own.ask('DELETE', '/me/totp');
      return [answer.status, answer.status === 204 ? undefined : answer.json().confirm_with];
    };
    expect(await remove()).toEqual([403, ['password_and_code']]);
    const code = codeAt(secret, clock.now());
    const shown = async (body: object) => {
      const answer = await own.ask('POST', '/confirmations', body);
      return [answer.status, answer.json().code];
    };
    expect(await shown({ password: GOOD_PASSWORD })).toEqual([422, 'validation_failed']);
    expect(await shown({ code })).toEqual([422, 'validation_failed']);
    expect(await shown({ password: 'x', code })).toEqual([401, 'invalid_credentials']);
    expect(await shown({ password: GOOD_PASSWORD, code: wrongCodeAt(secret, clock.now()) })).toEqual([
      401,
      'invalid_credentials',
    ]);
    expect(await remove()).toEqual([403, ['password_and_code']]);
    expect(await shown({ password: GOOD_PASSWORD, code })).toEqual([200, undefined]);
    expect((await createKey()).status).toBe(201);
    clock.advance(11 * MINUTE_MS);
    expect(await remove()).toEqual([403, ['password_and_code']]);
    // A code can confirm only once.
    expect(await shown({ password: GOOD_PASSWORD, code })).toEqual([401, 'invalid_credentials']);
    expect(await shown({ password: GOOD_PASSWORD, code: codeAt(secret, clock.now()) })).toEqual([200, undefined]);
    expect(await remove()).toEqual([204, undefined]);
  });

  it('in another session does not count in this one', async () => {
    const other = new PanelBrowser(running.url);
    await other.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    running.clock.advance(11 * MINUTE_MS);
    expect((await createKey(other)).status).toBe(403);
    await other.call('POST', '/confirmations', { password: GOOD_PASSWORD });
    expect((await createKey(other)).status).toBe(201);
    expect((await createKey()).status).toBe(403);
    await own.call('POST', '/confirmations', { password: GOOD_PASSWORD });
    expect((await createKey()).status).toBe(201);
  });

  it('is not required for the operator token', async () => {
    running.clock.advance(11 * MINUTE_MS);
    await running.admin.createKey(accountId);
  });

  it('is required for members who are operators', async () => {
    const operator = await memberWithPassword(database, running, { isOperator: true });
    const browser = new PanelBrowser(running.url);
    await browser.call('POST', '/sign-in/password', { email: operator.email, password: GOOD_PASSWORD });
    running.clock.advance(11 * MINUTE_MS);
    expect((await createKey(browser)).json()).toMatchObject({ code: 'confirmation_required' });
    await browser.call('POST', '/confirmations', { password: GOOD_PASSWORD });
    expect((await createKey(browser)).status).toBe(201);
  });

  it('is required for a new password, which ends other sessions and renews the current one', async () => {
    const other = new PanelBrowser(running.url);
    await other.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    running.clock.advance(11 * MINUTE_MS);
    const password = 'nine quiet herons over the weir';
    expect((await own.ask('PUT', '/me/password', { password })).status).toBe(403);
    await own.call('POST', '/confirmations', { password: GOOD_PASSWORD });
    expect((await own.ask('PUT', '/me/password', { password: 'short' })).status).toBe(422);
    const cookie = own.cookies.get('tg_session');
    expect((await own.ask('PUT', '/me/password', { password })).status).toBe(204);
    expect(own.cookies.get('tg_session')).not.toBe(cookie);
    expect((await own.ask('GET', '/me')).status).toBe(200);
    expect((await other.ask('GET', '/me')).json()).toMatchObject({ code: 'session_ended' });
    expect((await own.ask('POST', '/confirmations', { password })).status).toBe(200);
  });

  it('sessions can be listed and ended by their member, but not ended by another member', async () => {
    const other = new PanelBrowser(running.url, { 'User-Agent': 'Another browser' });
    await other.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    const { data } = await own.call<{ data: { id: string; current: boolean; user_agent: string }[] }>(
      'GET',
      '/me/sessions',
    );
    expect(data.map(({ current, user_agent: agent }) => [current, agent]).toSorted()).toEqual([
      [false, 'Another browser'],
      [true, ''],
    ]);
    const { id } = data.find(({ current }) => !current)!;
    const stranger = new PanelBrowser(running.url);
    const { email } = await memberWithPassword(database, running, { isOperator: true });
    await stranger.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    expect((await stranger.ask('DELETE', `/sessions/${id}`)).status).toBe(404);
    expect((await other.ask('GET', '/me')).status).toBe(200);
    expect((await own.ask('DELETE', `/sessions/${id}`)).status).toBe(204);
    expect((await other.ask('GET', '/me')).status).toBe(401);
    await other.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    expect((await own.ask('DELETE', '/me/sessions')).status).toBe(204);
    expect((await other.ask('GET', '/me')).status).toBe(401);
    expect((await own.ask('GET', '/me')).status).toBe(200);
  });
});
