/** Disabled sign-in methods grant nothing: no password if passwords are off, no passkey if passkeys are off. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { Authenticator } from '../support/authenticator.js';
import { testDatabase } from '../support/database.js';
import { PROVIDER_CLIENT } from '../support/identity-provider.js';
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
  const { token } = await started.members.sessions.begin({ memberId: member.id }, 'link', { ip: '::1', userAgent: '' });
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
  return { running: started, member, accountId, own, asked, invitation, stranger: () => new PanelBrowser(started.url) };
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
  // A disabled password is not offered for confirmation.
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
  // The reset removes the old password, so that it does not come back when passwords are turned on again.
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
