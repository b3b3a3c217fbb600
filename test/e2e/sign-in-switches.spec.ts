/** Disabled sign-in methods grant nothing. Covers disabled passwords and disabled passkeys. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { AdminConfig } from '../../src/config/model/admin-schema.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { codeAt, fromBase32 } from '../support/authenticator-app.js';
import { Authenticator } from '../support/authenticator.js';
import { testDatabase } from '../support/database.js';
import { PROVIDER_CLIENT } from '../support/identity-provider.js';
import { LyingProvider } from '../support/lying-provider.js';
import { GOOD_PASSWORD, memberWithPassword, PanelBrowser } from '../support/signed-in.js';

let database: DatabaseHandle;
let running: RunningAdmin | undefined;

beforeEach(async () => {
  database = await testDatabase('sqlite');
});
afterEach(async () => {
  await running?.close();
  await database.close();
});

type Settings = NonNullable<NonNullable<Parameters<typeof startAdmin>[1]>['settings']>;

async function startWith(settings: Settings) {
  running = await startAdmin(database, { settings });
  const started = running;
  const { id: accountId } = await started.admin.createAccount({ plan: 'starter' });
  const member = await memberWithPassword(database, started, { roles: { [accountId]: 'owner' } });
  const own = new PanelBrowser(started.url);
  const { token } = await started.members.sessions.createSession({ memberId: member.id }, 'link', {
    ip: '::1',
    userAgent: '',
  });
  own.cookies.set('tg_session', token);
  await own.call('GET', '/me');
  const asked = async (method: string, path: string, body?: object, browser = own) => {
    const answer = await browser.ask(method, path, body);
    return [answer.status, answer.status < 300 ? undefined : answer.json().code];
  };
  const invitation = async (email: string) => {
    const path = `/accounts/${accountId}/invitations`;
    const { link } = await started.admin.call<{ link: string }>('POST', path, { email, role: 'viewer' });
    return link.split('#')[1];
  };
  /** Changes settings under `admin.signIn` while the program runs, as a reload does. */
  const switchTo = async (signIn: Partial<AdminConfig['signIn']>) => {
    const { config } = started.modules;
    const { file } = config.current;
    const admin = { ...file.admin, signIn: { ...file.admin.signIn, ...signIn } };
    await config.replace({ config: { ...config.current, file: { ...file, admin } } });
  };
  return {
    running: started,
    switchTo,
    member,
    accountId,
    own,
    asked,
    invitation,
    stranger: () => new PanelBrowser(started.url),
  };
}

const FORBIDDEN = [403, 'forbidden'];

it('with passwords disabled, no password can be set or used to sign in or to confirm', async () => {
  const {
    running: started,
    member,
    own,
    asked,
    stranger,
    accountId,
    invitation,
  } = await startWith({
    signIn: { passwords: false },
  });
  const password = GOOD_PASSWORD;
  expect(await own.call('GET', '/sign-in')).toMatchObject({ password: false, passkey: true });
  expect(await asked('POST', '/sign-in/password', { email: member.email, password }, stranger())).toEqual(FORBIDDEN);
  expect(await asked('POST', '/confirmations', { password })).toEqual(FORBIDDEN);
  expect(await asked('PUT', '/me/password', { password })).toEqual(FORBIDDEN);
  // Disabled passwords are not offered for confirmation.
  started.clock.advance(11 * 60_000);
  const refused = await own.ask('POST', `/accounts/${accountId}/tokens`, {});
  expect(refused.json()).toMatchObject({ code: 'confirmation_required', confirm_with: [] });

  const token = await invitation('bea@example.com');
  const bea = stranger();
  expect(await bea.call('POST', '/links/read', { token })).toMatchObject({ ways: ['name', 'sign_in'] });
  expect(await asked('POST', '/links/take', { token, name: 'Bea', password }, bea)).toEqual(FORBIDDEN);
  expect(await asked('POST', '/links/take', { token, name: 'Bea' }, bea)).toEqual([200, undefined]);
  expect(await bea.call('GET', '/me')).toMatchObject({ member: { has_password: false } });

  const reset = await started.admin.call<{ link: string }>('POST', `/members/${member.id}/password-reset-links`);
  const link = { token: reset.link.split('#')[1] };
  expect(await asked('POST', '/links/take', { ...link, password }, stranger())).toEqual(FORBIDDEN);
  expect(await asked('POST', '/links/take', link, stranger())).toEqual([200, undefined]);
  // The reset removes the old password, so that it does not work again when passwords are enabled later.
  expect(await started.members.store.get(member.id)).toMatchObject({ hasPassword: false });
});

it('with passwords disabled and a provider, invitations need the provider, and no reset link is mailed', async () => {
  const company = { issuer: 'https://idp.example.com', ...PROVIDER_CLIENT, label: 'Company' };
  const mail = { url: 'smtp://localhost', from: 'no-reply@example.com' };
  const first = await startWith({ signIn: { passwords: false, providers: { company } } });
  const token = await first.invitation('bea@example.com');
  expect(await first.own.call('POST', '/links/read', { token })).toMatchObject({ ways: ['provider', 'sign_in'] });
  expect(await first.asked('POST', '/links/take', { token, name: 'Bea' }, first.stranger())).toEqual(FORBIDDEN);
  await first.running.close();
  const { asked, member, stranger } = await startWith({ signIn: { passwords: false, providers: { company } }, mail });
  expect(await asked('POST', '/password-resets', { email: member.email }, stranger())).toEqual([202, undefined]);
  expect(await database.db.selectFrom('mail').select('id').execute()).toEqual([]);
});

it('with passkeys disabled, no passkey can be created or used to sign in or to confirm', async () => {
  const device = new Authenticator();
  const { own, asked, stranger } = await startWith({ signIn: { passkeys: false } });
  expect(await own.call('GET', '/sign-in')).toMatchObject({ password: true, passkey: false });
  const site = { origin: 'http://localhost', rpId: 'localhost' };
  const passkey = device.authenticate({ challenge: 'x', ...site });
  const response = device.register({ challenge: 'x', ...site });
  expect(await asked('POST', '/sign-in/passkey/options', undefined, stranger())).toEqual(FORBIDDEN);
  expect(await asked('POST', '/sign-in/passkey', { response: passkey }, stranger())).toEqual(FORBIDDEN);
  expect(await asked('POST', '/confirmations/passkey/options')).toEqual(FORBIDDEN);
  expect(await asked('POST', '/confirmations', { passkey })).toEqual(FORBIDDEN);
  expect(await asked('POST', '/me/passkeys/options')).toEqual(FORBIDDEN);
  expect(await asked('POST', '/me/passkeys', { name: 'x', response })).toEqual(FORBIDDEN);
});

it('a second factor is refused if passwords were disabled after the password was checked', async () => {
  const { running: started, member, own, asked, stranger, switchTo } = await startWith({});
  const { secret: text } = await own.call<{ secret: string }>('POST', '/me/totp');
  const secret = fromBase32(text);
  const code = () => codeAt(secret, started.clock.now());
  const { recovery_codes: codes } = await own.call<{ recovery_codes: string[] }>('POST', '/me/totp/confirm', {
    code: code(),
  });
  started.clock.advance(60_000);
  const begun = stranger();
  const signIn = { email: member.email, password: GOOD_PASSWORD };
  expect(await begun.call('POST', '/sign-in/password', signIn)).toMatchObject({ state: 'second_factor' });
  await switchTo({ passwords: false });
  for (const factor of [{ code: code() }, { recovery_code: codes[0] }]) {
    expect(await asked('POST', '/sign-in/second-factor', factor, begun)).toEqual(FORBIDDEN);
  }
  expect(begun.cookies.has('tg_session')).toBe(false);
  // The refusals used up neither the code nor the step.
  await switchTo({ passwords: true });
  expect(await asked('POST', '/sign-in/second-factor', { code: code() }, begun)).toEqual([200, undefined]);
});

it('a passkey challenge is refused if passkeys were disabled after it was issued', async () => {
  const { running: started, own, asked, stranger, switchTo } = await startWith({});
  const site = { origin: `http://localhost:${started.port}`, rpId: 'localhost' };
  const challengeOf = async (path: string, browser = own) =>
    (await browser.call<{ challenge: string }>('POST', path)).challenge;
  /** Asks with passkeys disabled, and again with passkeys enabled. */
  const withBoth = async (path: string, body: object, browser = own) => {
    await switchTo({ passkeys: false });
    expect(await asked('POST', path, body, browser)).toEqual(FORBIDDEN);
    await switchTo({ passkeys: true });
    return (await asked('POST', path, body, browser))[0];
  };
  const device = new Authenticator();
  const response = device.register({ challenge: await challengeOf('/me/passkeys/options'), ...site });
  expect(await withBoth('/me/passkeys', { name: 'Laptop', response })).toBe(201);
  const passkey = device.authenticate({ challenge: await challengeOf('/confirmations/passkey/options'), ...site });
  expect(await withBoth('/confirmations', { passkey })).toBe(200);
  const next = stranger();
  const challenge = await challengeOf('/sign-in/passkey/options', next);
  expect(await withBoth('/sign-in/passkey', { response: device.authenticate({ challenge, ...site }) }, next)).toBe(200);
});

it('a sign-in at an identity provider is refused if the provider was removed after the sign-in began', async () => {
  const provider = await LyingProvider.start();
  try {
    const company = { issuer: provider.issuer, ...PROVIDER_CLIENT, label: 'Company' };
    const started = await startWith({ signIn: { providers: { company } } });
    const times = { created_at: 1, last_used_at: 1 };
    const identity = { issuer: provider.issuer, subject: 'ana', member_id: started.member.id, email: null, ...times };
    await database.db.insertInto('member_identity').values(identity).execute();
    const { providers } = started.running.modules.config.current.file.admin.signIn;
    const begun = started.stranger();
    const { url } = await begun.call<{ url: string }>('POST', '/sign-in/providers/company', {});
    const callback = `/sign-in/providers/company/callback${provider.signIn(url)}`;
    await started.switchTo({ providers: {} });
    expect(await started.asked('GET', callback, undefined, begun)).toEqual([404, 'resource_not_found']);
    expect(begun.cookies.has('tg_session')).toBe(false);
    await started.switchTo({ providers });
    expect((await begun.ask('GET', callback)).headers.location).toBe('/');
    expect(begun.cookies.has('tg_session')).toBe(true);
  } finally {
    provider.close();
  }
});
