/** Sign-in with a password and a TOTP code. The password alone gives no session, and a code works once. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { createLink } from '../../src/members/links.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { codeAt, fromBase32, wrongCodeAt } from '../support/authenticator-app.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { GOOD_PASSWORD, memberWithPassword, PanelBrowser } from '../support/signed-in.js';
import { eventually } from '../support/processes.js';

const MINUTE_MS = 60_000;

describeOnDatabases('a sign-in with a code', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let email: string;
  let id: string;
  let secret: Buffer;
  let codes: readonly string[];

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const browser = () => new PanelBrowser(running.url);
  const now = () => running.clock.now();
  const withPassword = async (own: PanelBrowser) =>
    await own.ask('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
  const withFactor = async (own: PanelBrowser, body: object) => {
    const answer = await own.ask('POST', '/sign-in/second-factor', body);
    return [answer.status, answer.json<{ code?: string; state?: string }>().code ?? answer.json().state];
  };

  /** Sets up an authenticator app in a signed-in browser. */
  const setUpApp = async (own: PanelBrowser) => {
    const { secret: text } = await own.call<{ secret: string }>('POST', '/me/totp');
    const key = fromBase32(text);
    const code = codeAt(key, now());
    const confirmed = await own.call<{ recovery_codes: string[] }>('POST', '/me/totp/confirm', { code });
    running.clock.advance(MINUTE_MS);
    return { key, recoveryCodes: confirmed.recovery_codes };
  };

  /** Creates a member who has set up an authenticator app. */
  beforeEach(async () => {
    ({ id, email } = await memberWithPassword(database, running));
    const own = browser();
    await withPassword(own);
    ({ key: secret, recoveryCodes: codes } = await setUpApp(own));
  });

  it('creates no session after the password alone, and the cookie of that step opens nothing', async () => {
    const own = browser();
    const answer = await withPassword(own);
    expect([answer.status, answer.json().state, answer.json().ways]).toEqual([
      200,
      'second_factor',
      ['totp', 'recovery_code'],
    ]);
    expect(answer.json().me).toBeUndefined();
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(/^tg_step=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    const me = await own.ask('GET', '/me');
    expect([me.status, me.json().code]).toEqual([401, 'missing_credentials']);
    // Sends the cookie of the sign-in step under the name of a session cookie.
    own.cookies.set('tg_session', own.cookies.get('tg_step') ?? '');
    expect((await own.ask('GET', '/me')).status).toBe(401);
  });

  it('succeeds with the code of the app, in a session with a new secret, and ends the step', async () => {
    const own = browser();
    await withPassword(own);
    const step = own.cookies.get('tg_step') ?? '';
    const answer = await own.ask('POST', '/sign-in/second-factor', { code: codeAt(secret, now()) });
    expect(answer.json()).toMatchObject({ state: 'signed_in', me: { member: { id, has_totp: true } } });
    expect(own.cookies.get('tg_session')).toMatch(/^[\w-]{43}$/);
    expect(own.cookies.get('tg_session')).not.toBe(step);
    expect(own.cookies.has('tg_step')).toBe(false);
    own.cookies.set('tg_step', step);
    running.clock.advance(MINUTE_MS);
    expect(await withFactor(own, { code: codeAt(secret, now()) })).toEqual([401, 'sign_in_ended']);
  });

  it('accepts no code twice, even in different browsers', async () => {
    const [first, second] = [browser(), browser()];
    await withPassword(first);
    await withPassword(second);
    const code = codeAt(secret, now());
    expect(await withFactor(first, { code })).toEqual([200, 'signed_in']);
    expect(await withFactor(second, { code })).toEqual([401, 'invalid_credentials']);
    running.clock.advance(MINUTE_MS);
    expect(await withFactor(second, { code: codeAt(secret, now()) })).toEqual([200, 'signed_in']);
  });

  it('ends after five wrong codes, and can be started again with the password', async () => {
    const own = browser();
    await withPassword(own);
    for (let wrong = 0; wrong < 5; wrong++) {
      expect(await withFactor(own, { code: wrongCodeAt(secret, now()) })).toEqual([401, 'invalid_credentials']);
    }
    expect(await withFactor(own, { code: codeAt(secret, now()) })).toEqual([401, 'sign_in_ended']);
    expect(own.cookies.has('tg_step')).toBe(false);
    await withPassword(own);
    expect(await withFactor(own, { code: codeAt(secret, now()) })).toEqual([200, 'signed_in']);
  });

  it('expires after five minutes', async () => {
    const own = browser();
    await withPassword(own);
    running.clock.advance(5 * MINUTE_MS);
    expect(await withFactor(own, { code: codeAt(secret, now()) })).toEqual([401, 'sign_in_ended']);
    expect(await withFactor(browser(), { code: codeAt(secret, now()) })).toEqual([401, 'sign_in_ended']);
  });

  it('allows ten wrong codes from other browsers, and still succeeds in a browser used before', async () => {
    const known = browser();
    await withPassword(known);
    await withFactor(known, { code: codeAt(secret, now()) });
    const statuses: unknown[] = [];
    for (let step = 0; step < 3; step++) {
      const thief = browser();
      await withPassword(thief);
      for (let guess = 0; guess < 5; guess++)
        statuses.push((await withFactor(thief, { code: wrongCodeAt(secret, now()) }))[0]);
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), ...Array.from({ length: 5 }, () => 429)]);
    running.clock.advance(MINUTE_MS);
    await withPassword(known);
    expect(await withFactor(known, { code: codeAt(secret, now()) })).toEqual([200, 'signed_in']);
  });

  it('accepts each recovery code once, reports how many are left, and is in the audit log', async () => {
    const own = browser();
    await withPassword(own);
    const [first = ''] = codes;
    expect(await withFactor(own, { recovery_code: first.toUpperCase() })).toEqual([200, 'signed_in']);
    expect(await own.call('GET', '/me/second-factor')).toEqual({ offered: true, totp: true, recovery_codes_left: 9 });
    const again = browser();
    await withPassword(again);
    expect(await withFactor(again, { recovery_code: first })).toEqual([401, 'invalid_credentials']);
    const entries = database.db.selectFrom('audit_entry').select(['action', 'after']).where('target_id', '=', id);
    // The audit entry of a refusal is written in the background.
    const refused = entries.where('action', '=', 'sign_in.refused');
    await eventually('the refusal is in the audit log', async () => (await refused.execute()).length === 1);
    expect(await withFactor(again, { recovery_code: codes[1] })).toEqual([200, 'signed_in']);
    const signIns = (await entries.where('action', 'like', 'sign_in.%').orderBy('id').execute()).map(
      ({ action, after }) => {
        const { second_factor: factor } = JSON.parse(after ?? '{}') as { second_factor?: string };
        return [action, factor];
      },
    );
    expect(signIns).toEqual([
      ['sign_in.succeeded', undefined],
      ['sign_in.succeeded', 'recovery_code'],
      ['sign_in.refused', 'recovery_code'],
      ['sign_in.succeeded', 'recovery_code'],
    ]);
    const other = browser();
    await withPassword(other);
    running.clock.advance(MINUTE_MS);
    await withFactor(other, { code: codeAt(secret, now()) });
    const last = await entries.orderBy('id', 'desc').limit(1).executeTakeFirstOrThrow();
    expect(JSON.parse(last.after ?? '{}')).toMatchObject({ method: 'password', second_factor: 'totp' });
  });

  it.each([{}, { code: '123456', recovery_code: 'x' }, { code: 123_456 }, { code: '' }, { code: '1'.repeat(21) }])(
    'rejects %j with 422',
    async (body) => {
      const own = browser();
      await withPassword(own);
      expect(await withFactor(own, body)).toEqual([422, 'validation_failed']);
    },
  );

  it('accepts no old recovery code after new ones were made, even in a step that began before', async () => {
    const own = browser();
    await withPassword(own);
    await withFactor(own, { code: codeAt(secret, now()) });
    const [waiting, next] = [browser(), browser()];
    await withPassword(waiting);
    const made = await own.call<{ recovery_codes: string[] }>('POST', '/me/recovery-codes');
    expect(made.recovery_codes).toHaveLength(10);
    await withPassword(next);
    expect(await withFactor(waiting, { recovery_code: codes[0] })).toEqual([401, 'invalid_credentials']);
    expect(await withFactor(next, { recovery_code: codes[1] })).toEqual([401, 'invalid_credentials']);
    expect(await withFactor(waiting, { recovery_code: made.recovery_codes[0] })).toEqual([200, 'signed_in']);
    expect(await withFactor(next, { recovery_code: made.recovery_codes[1] })).toEqual([200, 'signed_in']);
    expect(await own.call('GET', '/me/second-factor')).toMatchObject({ recovery_codes_left: 8 });
  });

  it('accepts no code of a removed app, neither in a step that began before nor with the next app', async () => {
    const [own, waiting] = [browser(), browser()];
    await withPassword(own);
    await withFactor(own, { code: codeAt(secret, now()) });
    await withPassword(waiting);
    running.clock.advance(MINUTE_MS);
    await own.call('DELETE', '/me/totp');
    expect(await own.call('GET', '/me/second-factor')).toEqual({ offered: true, totp: false, recovery_codes_left: 0 });
    expect(await withFactor(waiting, { code: codeAt(secret, now()) })).toEqual([401, 'invalid_credentials']);
    expect(await withFactor(waiting, { recovery_code: codes[0] })).toEqual([401, 'invalid_credentials']);
    const { key, recoveryCodes } = await setUpApp(own);
    expect(await withFactor(waiting, { code: codeAt(secret, now()) })).toEqual([401, 'invalid_credentials']);
    expect(await withFactor(waiting, { recovery_code: codes[0] })).toEqual([401, 'invalid_credentials']);
    expect(await withFactor(waiting, { recovery_code: recoveryCodes[0] })).toEqual([200, 'signed_in']);
    const next = browser();
    await withPassword(next);
    expect(await withFactor(next, { code: codeAt(key, now()) })).toEqual([200, 'signed_in']);
  });

  it('needs no code after the app was removed, which the audit log records', async () => {
    const own = browser();
    await withPassword(own);
    await withFactor(own, { code: codeAt(secret, now()) });
    await own.call('DELETE', '/me/totp');
    await own.call('DELETE', '/me/totp');
    const next = browser();
    expect((await withPassword(next)).json().state).toBe('signed_in');
    const log = await database.db.selectFrom('audit_entry').select('action').where('target_id', '=', id).execute();
    expect(log.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['member.totp_added', 'member.totp_removed']),
    );
  });

  it('writes no TOTP secret, code, password or session token to the log', async () => {
    const own = browser();
    await withPassword(own);
    const code = codeAt(secret, now());
    await withFactor(own, { code: wrongCodeAt(secret, now()) });
    await withFactor(own, { code });
    const log = running.log.join('');
    for (const word of [code, secret.toString('hex'), GOOD_PASSWORD, ...codes, own.cookies.get('tg_session') ?? '']) {
      expect(log).not.toContain(word);
    }
    expect(log).toContain('sign_in_refused');
  });

  it('requires a code after a password reset by link, too', async () => {
    const link = { kind: 'password_reset', memberId: id, createdBy: 'operator', lastsMs: MINUTE_MS } as const;
    const { token } = await createLink(database.db, link, now());
    const own = browser();
    const password = 'nine slow herons stand in the rain';
    const answer = await own.ask('POST', '/links/take', { token, password });
    expect([answer.status, answer.json().state]).toEqual([200, 'second_factor']);
    expect(own.cookies.has('tg_session')).toBe(false);
    expect(await withFactor(own, { code: codeAt(secret, now()) })).toEqual([200, 'signed_in']);
  });
});
