/** Sign-in with a passkey, with a simulated authenticator that can lie, and in a real browser with its virtual one. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { CDPSession, Page } from 'playwright-core';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { Authenticator } from '../support/authenticator.js';
import { startBrowser, type Browser } from '../support/browser.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases, describeWithChromium } from '../support/describe-with.js';
import { GOOD_PASSWORD, memberWithPassword, PanelBrowser } from '../support/signed-in.js';

const MINUTE_MS = 60_000;

describeOnDatabases('a sign-in with a passkey', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let site: { origin: string; rpId: string };

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
    site = { origin: `http://localhost:${running.port}`, rpId: 'localhost' };
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  /** Creates a member with a password and one passkey. Returns them with the session that registered the passkey. */
  async function withPasskey() {
    const member = await memberWithPassword(database, running);
    const own = new PanelBrowser(running.url);
    await own.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    await own.call('POST', '/confirmations', { password: GOOD_PASSWORD });
    const device = new Authenticator();
    const { challenge } = await own.call<{ challenge: string }>('POST', '/me/passkeys/options');
    const response = device.register({ challenge, ...site });
    const made = await own.call<{ id: string }>('POST', '/me/passkeys', { name: 'Laptop', response });
    return { ...member, own, device, passkeyId: made.id };
  }

  async function signInWith(own: PanelBrowser, device: Authenticator, more: object = {}) {
    const { challenge } = await own.call<{ challenge: string }>('POST', '/sign-in/passkey/options');
    const response = device.authenticate({ challenge, ...site, ...more });
    const answer = await own.ask('POST', '/sign-in/passkey', { response });
    return { answer, response, outcome: [answer.status, answer.json().code ?? answer.json().state] };
  }

  it('needs no email and no password, and accepts a response only once', async () => {
    const { device, id } = await withPasskey();
    const own = new PanelBrowser(running.url);
    const { answer, response } = await signInWith(own, device, { userHandle: id });
    expect(answer.json()).toMatchObject({ state: 'signed_in', me: { member: { id, passkeys: 1 } } });
    expect(own.cookies.has('tg_step')).toBe(false);
    const again = await own.ask('POST', '/sign-in/passkey', { response });
    expect([again.status, again.json().code]).toEqual([401, 'sign_in_ended']);
  });

  it('is refused with the same error for an unknown passkey and for false data, without a session', async () => {
    const { device } = await withPasskey();
    const own = new PanelBrowser(running.url);
    const refused = [401, 'invalid_credentials'];
    expect((await signInWith(own, new Authenticator())).outcome).toEqual(refused);
    expect((await signInWith(own, device, { origin: 'http://localhost:1' })).outcome).toEqual(refused);
    expect((await signInWith(own, device, { rpId: '127.0.0.1' })).outcome).toEqual(refused);
    expect((await signInWith(own, device, { isVerified: false })).outcome).toEqual(refused);
    expect((await own.ask('GET', '/me')).status).toBe(401);
    expect((await signInWith(own, device)).outcome).toEqual([200, 'signed_in']);
  });

  it('is refused for a disabled member', async () => {
    const { device, id } = await withPasskey();
    await database.db.updateTable('member').set({ status: 'disabled' }).where('id', '=', id).execute();
    expect((await signInWith(new PanelBrowser(running.url), device)).outcome).toEqual([401, 'invalid_credentials']);
  });

  it('cannot be started by a page of another origin', async () => {
    const own = new PanelBrowser(running.url);
    const foreign = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' };
    const answer = await own.ask('POST', '/sign-in/passkey/options', undefined, foreign);
    expect([answer.status, answer.json().code]).toEqual([403, 'cross_site_request']);
  });

  it('uses a passkey that only its member can rename and remove, and is refused after its removal', async () => {
    const { own, device, passkeyId } = await withPasskey();
    const stranger = await withPasskey();
    for (const method of ['PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? { name: 'Mine' } : undefined;
      const answer = await stranger.own.ask(method, `/me/passkeys/${passkeyId}`, body);
      expect([answer.status, answer.json().code]).toEqual([404, 'resource_not_found']);
    }
    expect(await own.call('PATCH', `/me/passkeys/${passkeyId}`, { name: 'Phone' })).toMatchObject({ name: 'Phone' });
    expect(await own.call('GET', '/me/passkeys')).toMatchObject({ data: [{ id: passkeyId, last_used_at: null }] });
    await own.call('DELETE', `/me/passkeys/${passkeyId}`);
    expect((await signInWith(new PanelBrowser(running.url), device)).outcome).toEqual([401, 'invalid_credentials']);
  });

  it('can be set up in a password-only session only after a confirmation, however new the session is', async () => {
    const { email } = await memberWithPassword(database, running);
    const own = new PanelBrowser(running.url);
    await own.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    const asked = [await own.ask('POST', '/me/passkeys/options')];
    const response = new Authenticator().register({ challenge: 'AAAA', ...site });
    asked.push(await own.ask('POST', '/me/passkeys', { name: 'Laptop', response }));
    expect(asked.map((answer) => [answer.status, answer.json().code])).toEqual(
      Array(2).fill([403, 'confirmation_required']),
    );
    // Other actions require no confirmation this soon after sign-in.
    expect((await own.ask('POST', '/me/totp')).status).toBe(200);
    await own.call('POST', '/confirmations', { password: GOOD_PASSWORD });
    expect((await own.ask('POST', '/me/passkeys/options')).status).toBe(200);
  });

  it('can confirm the member after ten minutes, but only with their own passkey', async () => {
    const { own, device } = await withPasskey();
    const other = await withPasskey();
    running.clock.advance(11 * MINUTE_MS);
    const begin = await own.ask('POST', '/me/passkeys/options');
    expect([begin.status, begin.json()]).toEqual([
      403,
      expect.objectContaining({ code: 'confirmation_required', confirm_with: ['password', 'passkey'] }),
    ]);
    const confirm = async (shown: Authenticator) => {
      const { challenge } = await own.call<{ challenge: string }>('POST', '/confirmations/passkey/options');
      const passkey = shown.authenticate({ challenge, ...site });
      return (await own.ask('POST', '/confirmations', { passkey })).status;
    };
    expect(await confirm(other.device)).toBe(401);
    expect((await own.ask('POST', '/me/passkeys/options')).status).toBe(403);
    expect(await confirm(device)).toBe(200);
    expect((await own.ask('POST', '/me/passkeys/options')).status).toBe(200);
  });
});

describeWithChromium('a browser with an authenticator', () => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let browser: Browser;
  let page: Page;
  let devtools: CDPSession;

  beforeAll(async () => {
    database = await testDatabase('sqlite');
    running = await startAdmin(database);
    browser = await startBrowser();
    page = await browser.newPage();
    devtools = await page.context().newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    // Opens a page of that origin without a security policy.
    await page.route('**/blank', async (route) => await route.fulfill({ contentType: 'text/html', body: '<p>blank' }));
    await page.goto(`http://localhost:${running.port}/blank`);
  });
  afterAll(async () => {
    await browser?.close();
    await running?.close();
    await database?.close();
  });

  /** Runs a script in the page, with `value` as its argument. */
  const inPage = async <Result>(script: string, value: unknown): Promise<Result> =>
    await page.evaluate<Result>(`(async (value) => { ${script} })(${JSON.stringify(value)})`);
  const call = async (method: string, path: string, body?: unknown, csrf = '') =>
    await inPage<{ status: number; body: Record<string, never> }>(
      `const response = await fetch('/admin/v1' + value.path, {
        method: value.method,
        headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': value.csrf },
        body: value.body === undefined ? null : JSON.stringify(value.body),
      });
      return { status: response.status, body: response.status === 204 ? null : await response.json() };`,
      { method, path, body, csrf },
    );
  const create = `const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(value);
    return (await navigator.credentials.create({ publicKey })).toJSON();`;
  const get = `const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(value);
    return (await navigator.credentials.get({ publicKey })).toJSON();`;

  it('creates a passkey for this panel, and signs in with it without an email', async () => {
    const { email, id } = await memberWithPassword(database, running);
    const { body: signedIn } = await call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    const { csrf_token: csrf } = signedIn['me'] as unknown as { csrf_token: string };
    await call('POST', '/confirmations', { password: GOOD_PASSWORD }, csrf);
    const { body: creation } = await call('POST', '/me/passkeys/options', undefined, csrf);
    const made = await inPage(create, creation);
    const added = await call('POST', '/me/passkeys', { name: 'Chromium', response: made }, csrf);
    expect(added).toMatchObject({ status: 201, body: { name: 'Chromium' } });
    expect((await call('POST', '/sign-out', undefined, csrf)).status).toBe(204);
    const { body: request } = await call('POST', '/sign-in/passkey/options');
    const shown = await inPage(get, request);
    expect(await call('POST', '/sign-in/passkey', { response: shown })).toMatchObject({
      status: 200,
      body: { state: 'signed_in', me: { member: { id } } },
    });
  });

  it('uses no passkey for another host, which the browser refuses with SecurityError', async () => {
    const { body: request } = await call('POST', '/sign-in/passkey/options');
    await expect(inPage(get, { ...request, rpId: 'example.com' })).rejects.toThrow('SecurityError');
  });
});
