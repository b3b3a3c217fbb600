/** Sign-in methods of a member and their changes on the profile page, in a real browser with the real API. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { encode } from 'uqr';
import type { CDPSession, Page } from 'playwright-core';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { renewLinkToken } from '../../src/members/links/link-renewal.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { codeAt, fromBase32, wrongCodeAt } from '../support/authenticator-app.js';
import { hasRead, startBrowser, type Browser } from '../support/browser.js';
import { testDatabase } from '../support/database.js';
import { describeWithChromium } from '../support/describe-with.js';
import { builtPanel } from '../support/panel.js';
import { GOOD_PASSWORD, memberWithPassword, PanelBrowser, signInAt } from '../support/signed-in.js';

const MINUTE_MS = 60_000;
const NEW_PASSWORD = 'nine tall herons wade downriver';

/** Ways to leave a dialog by mistake. */
const LEAVING: readonly ((page: Page) => Promise<unknown>)[] = [
  (page) => page.keyboard.press('Escape'),
  (page) => page.getByRole('dialog').getByRole('button', { name: 'Close' }).click(),
  (page) => page.evaluate('history.back()'),
];

describeWithChromium('a member', () => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let withMail: RunningAdmin;
  let browser: Browser;
  let page: Page;
  let devtools: CDPSession;
  let accountId: string;
  let email: string;

  beforeAll(async () => {
    const panel = builtPanel();
    database = await testDatabase('sqlite');
    running = await startAdmin(database, { panel });
    const mail = { url: 'smtp://localhost', from: 'no-reply@example.com' };
    withMail = await startAdmin(database, { panel, settings: { mail } });
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
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
  });
  afterAll(async () => {
    await browser?.close();
    await running?.close();
    await withMail?.close();
    await database?.close();
  });
  beforeEach(async () => {
    const member = await memberWithPassword(database, running, { roles: { [accountId]: 'owner' } });
    ({ email } = member);
    await signInAt(browser.context, running, member.id);
    await page.goto(`http://localhost:${running.port}/profile`);
    await page.getByRole('heading', { name: 'Your profile' }).waitFor();
  });
  afterEach(async () => {
    await browser.context.clearCookies();
  });

  const press = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' }).click();
  const byPassword = async (password = GOOD_PASSWORD): Promise<void> => {
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await press('Sign in');
  };
  const signOut = async (): Promise<void> => {
    await press(/Account menu/);
    await press('Sign out');
    await page.getByLabel('Email').waitFor();
  };
  const confirmWithPassword = async (): Promise<void> => {
    const gate = page.getByRole('dialog', { name: "Confirm it's you" });
    await gate.getByLabel('Password', { exact: true }).fill(GOOD_PASSWORD);
    await gate.getByRole('button', { name: 'Continue' }).click();
  };
  const part = (name: string) => page.getByRole('region', { name });

  it('verifies the address by a mailed link, after signing in', async () => {
    const address = part('Sign-in address');
    await address.getByText("Email isn't set up").waitFor();
    const site = `http://localhost:${withMail.port}`;
    await page.goto(`${site}/profile`);
    await address.getByText('Not verified').waitFor();
    await address.getByRole('button', { name: 'Verify address' }).click();
    await address.getByText('We sent you a link.').waitFor();
    const mails = database.db.selectFrom('mail').select('link_id').where('to_address', '=', email);
    const { link_id: linkId } = await mails.executeTakeFirstOrThrow();
    const token = await renewLinkToken(database.db, linkId ?? '', withMail.clock.now());
    await signOut();
    await page.goto(`${site}/link#${token}`);
    await page.getByText('Sign in with this address first.').waitFor();
    await byPassword();
    await press('Verify address');
    await address.getByText('Verified', { exact: true }).waitFor();
    expect(await address.getByRole('button').count()).toBe(0);
  });

  it('sets up an authenticator app, signs in with it or a recovery code, and loses no codes by mistake', async () => {
    const app = part('Authenticator app');
    await app.getByText('Not set up.').waitFor();
    const begun: string[] = [];
    page.on('request', (each) => each.method() === 'POST' && each.url().endsWith('/me/totp') && begun.push(each.url()));
    const response = page.waitForResponse((each) => each.url().endsWith('/me/totp'));
    await app.getByRole('button', { name: 'Set up' }).click();
    const { uri } = (await (await response).json()) as { readonly uri: string };
    const picture = page.getByRole('img', { name: 'QR code for the authenticator app' });
    const dark = encode(uri, { border: 4 }).data.flatMap((row, y) =>
      row.map((isDark, x) => (isDark ? `M${x} ${y}` : '')),
    );
    expect(((await picture.locator('path').getAttribute('d')) ?? '').replaceAll('h1v1h-1z', '')).toBe(dark.join(''));
    const secret = fromBase32(((await page.locator('[role=dialog] .secret').textContent()) ?? '').replaceAll(' ', ''));
    const code = page.getByLabel('Code from your authenticator app');
    await code.fill(wrongCodeAt(secret, running.clock.now()));
    await press('Continue');
    await page.getByText("That code isn't valid.").waitFor();
    await code.fill(codeAt(secret, running.clock.now()));
    await press('Continue');
    const recovery = page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem');
    await recovery.first().waitFor();
    const codes = await recovery.allTextContents();
    expect(new Set(codes).size).toBe(10);
    for (const leave of LEAVING) {
      await leave(page);
      await page.getByText('Close without saving the codes?').waitFor();
      await press('Go back');
      expect(await recovery.allTextContents()).toEqual(codes);
    }
    await page.mouse.click(5, 5);
    expect(await page.getByText('Close without saving the codes?').count()).toBe(0);
    const asked = page.waitForEvent('dialog');
    await page.evaluate('setTimeout(() => location.reload(), 0)');
    const unload = await asked;
    expect(unload.type()).toBe('beforeunload');
    await unload.dismiss();
    expect(await recovery.allTextContents()).toEqual(codes);
    await page.getByLabel("I've saved these codes").check();
    await press('Done');
    await app.getByText('10 recovery codes left').waitFor();
    expect(begun).toHaveLength(1);
    expect(await page.content()).not.toContain(codes[0]);

    await signOut();
    await byPassword();
    running.clock.advance(MINUTE_MS);
    await code.fill(wrongCodeAt(secret, running.clock.now()));
    await press('Continue');
    await page.getByText('Incorrect sign-in details').waitFor();
    await press('Use a recovery code');
    await page.getByLabel('Recovery code').waitFor();
    expect(await page.getByText('Incorrect sign-in details').count()).toBe(0);
    await press('Use the app instead');
    await code.fill(codeAt(secret, running.clock.now()));
    await press('Continue');
    await app.getByText('10 recovery codes left').waitFor();

    await signOut();
    await byPassword();
    await press('Use a recovery code');
    await page.getByLabel('Recovery code').fill(codes[3] ?? '');
    await press('Continue');
    await app.getByText('9 recovery codes left').waitFor();
    await app.getByRole('button', { name: 'New recovery codes' }).click();
    await press('Create new codes');
    await recovery.first().waitFor();
    await page.keyboard.press('Escape');
    await press('Close anyway');
    await app.getByText('10 recovery codes left').waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    running.clock.advance(11 * MINUTE_MS);
    await app.getByRole('button', { name: 'Remove the app' }).click();
    await press('Remove');
    // Otherwise the password alone could remove the second factor.
    const gate = page.getByRole('dialog', { name: "Confirm it's you" });
    await gate.getByLabel('Password', { exact: true }).fill(GOOD_PASSWORD);
    await gate.getByLabel('Code from your authenticator app').fill(wrongCodeAt(secret, running.clock.now()));
    await gate.getByRole('button', { name: 'Continue' }).click();
    await gate.getByText('Incorrect sign-in details').waitFor();
    await gate.getByLabel('Code from your authenticator app').fill(codeAt(secret, running.clock.now()));
    await gate.getByRole('button', { name: 'Continue' }).click();
    await app.getByText('Not set up.').waitFor();
  });

  it('adds a passkey that signs in and confirms, and that signs in no more once removed', async () => {
    const passkeys = part('Passkeys');
    await passkeys.getByRole('button', { name: 'Add a passkey' }).click();
    // The session began with a password, and a first passkey is a new sign-in method, so it must be confirmed.
    await confirmWithPassword();
    await passkeys.getByRole('button', { name: 'Rename Chrome on Linux' }).click();
    const renaming = page.getByRole('dialog', { name: /^Rename/ });
    await renaming.getByLabel('Name', { exact: true }).fill('Laptop of the office');
    await renaming.getByRole('button', { name: 'Save' }).click();
    await passkeys.getByText('Laptop of the office').waitFor();

    await signOut();
    await press('Sign in with a passkey');
    await passkeys.getByText('Laptop of the office').waitFor();
    running.clock.advance(11 * MINUTE_MS);
    await passkeys.getByRole('button', { name: 'Remove Laptop of the office' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    const member = database.db.updateTable('member').where('email', '=', email);
    const { password } = await database.db
      .selectFrom('member')
      .selectAll()
      .where('email', '=', email)
      .executeTakeFirstOrThrow();
    await member.set({ password: null }).execute();
    await page.getByRole('dialog', { name: "Confirm it's you" }).getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByRole('dialog').getByText('You need a sign-in method').waitFor();
    await member.set({ password }).execute();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await passkeys.getByText('No passkeys yet.').waitFor();

    await signOut();
    await press('Sign in with a passkey');
    await page.getByText('Incorrect sign-in details').waitFor();
  });

  it('must confirm changes of keys and webhook endpoints that widen access, and no others', async () => {
    const { admin, clock, modules } = running;
    const key = await admin.createKey(accountId, { scopes: ['customers:read'], allowed_ips: ['192.0.2.1'] });
    const hook = { url: 'https://shop.trailgate.dev/hooks' };
    const { id } = await admin.call<{ id: string }>('POST', `/accounts/${accountId}/webhook-endpoints`, hook);
    clock.advance(11 * MINUTE_MS);
    const edit = async (path: string, dialog: string) => {
      await page.goto(`http://localhost:${running.port}/${accountId}/${path}`);
      await press('Edit');
      return page.getByRole('dialog', { name: dialog });
    };
    const save = async (form: ReturnType<typeof part>) => {
      await form.getByRole('button', { name: 'Save' }).click();
      return form;
    };

    let form = await edit(`api-keys/${key.id}`, 'Edit API key');
    await form.getByLabel('Name', { exact: true }).fill('Renamed');
    await (await save(form)).waitFor({ state: 'detached' });
    form = await edit(`api-keys/${key.id}`, 'Edit API key');
    await form.locator('input[value="customers:write"]').check();
    await save(form);
    await confirmWithPassword();
    await form.waitFor({ state: 'detached' });
    expect((await modules.keyStore.get(key.id)).scopes).toEqual(['customers:read', 'customers:write']);

    clock.advance(11 * MINUTE_MS);
    form = await edit(`webhooks/${id}`, 'Edit endpoint');
    await form.getByLabel('Description').fill('Shop');
    await (await save(form)).waitFor({ state: 'detached' });
    form = await edit(`webhooks/${id}`, 'Edit endpoint');
    await form.getByLabel('URL', { exact: true }).fill('https://shop.trailgate.dev/more');
    await save(form);
    await confirmWithPassword();
    await form.waitFor({ state: 'detached' });
    expect(await admin.call('GET', `/webhook-endpoints/${id}`)).toMatchObject({
      url: 'https://shop.trailgate.dev/more',
    });
  });

  it('changes the password, which ends the sessions elsewhere but not this one', async () => {
    const elsewhere = new PanelBrowser(running.url, { 'User-Agent': 'Mozilla/5.0 (Windows NT 10.0) Firefox/140.0' });
    await elsewhere.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    running.clock.advance(11 * MINUTE_MS);
    await page.reload();
    await part('Active sessions').getByText('Firefox on Windows').waitFor();
    await press('Change password');
    const dialog = page.getByRole('dialog', { name: 'Change password' });
    await dialog.getByLabel('New password').fill('aaaaaaaaaaaaaaaaaaaa');
    await dialog.getByLabel('Confirm password').fill('aaaaaaaaaaaaaaaaaaaa');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const gate = page.getByRole('dialog', { name: "Confirm it's you" });
    await gate.getByLabel('Password', { exact: true }).fill('wrong');
    await gate.getByRole('button', { name: 'Continue' }).click();
    await gate.getByText('Incorrect sign-in details').waitFor();
    await gate.getByLabel('Password', { exact: true }).fill(GOOD_PASSWORD);
    await gate.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('Too easy to guess').waitFor();
    await dialog.getByLabel('New password').fill(NEW_PASSWORD);
    await dialog.getByLabel('Confirm password').fill(NEW_PASSWORD);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Your new password is active.').waitFor();
    expect((await elsewhere.ask('GET', '/me')).status).toBe(401);
    // Changes still work here, because the page has the token of the new session.
    await page.getByLabel('Name', { exact: true }).fill('Ana of the river');
    await part('About you').getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved').waitFor();
    await signOut();
    await byPassword(NEW_PASSWORD);
    await page.getByRole('heading', { name: 'Your profile' }).waitFor();
  });

  it('does not inherit a pending confirmation from the member who was signed in before', async () => {
    running.clock.advance(11 * MINUTE_MS);
    await page.reload();
    await press('Change password');
    const dialog = page.getByRole('dialog', { name: 'Change password' });
    await dialog.getByLabel('New password').fill(NEW_PASSWORD);
    await dialog.getByLabel('Confirm password').fill(NEW_PASSWORD);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog', { name: "Confirm it's you" }).waitFor();
    const second = await browser.newPage();
    await second.goto(page.url());
    await second.getByRole('button', { name: 'Account menu' }).click();
    await second.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor();
    await second.close();
    ({ email } = await memberWithPassword(database, running, { roles: { [accountId]: 'admin' } }));
    await byPassword();
    await page.getByRole('heading', { name: 'Your profile' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    running.clock.advance(11 * MINUTE_MS);
    await press('Add a passkey');
    const gate = page.getByRole('dialog', { name: "Confirm it's you" });
    await gate.getByLabel('Password', { exact: true }).fill(GOOD_PASSWORD);
    await gate.getByRole('button', { name: 'Continue' }).click();
    await part('Passkeys').getByRole('button', { name: 'Rename Chrome on Linux' }).waitFor();
    await signOut();
    await byPassword();
    await page.getByRole('heading', { name: 'Your profile' }).waitFor();
  });

  it('changes the language permanently in the menu and in the profile', async () => {
    await database.db.updateTable('member').set({ locale: 'en' }).where('email', '=', email).execute();
    await page.reload();
    await press(/Account menu/);
    await page.getByRole('radiogroup', { name: 'Language' }).getByText('Español').click();
    await page.locator('html[lang=es]').waitFor();
    await hasRead(page);
    await page.reload();
    await page.getByRole('heading', { name: 'Su perfil' }).waitFor();
    expect(await page.getAttribute('html', 'lang')).toBe('es');
    await page.getByRole('combobox', { name: 'Idioma' }).click();
    await page.getByRole('option', { name: 'Predeterminado del navegador' }).click();
    await press('Guardar');
    await page.getByRole('heading', { name: 'Your profile' }).waitFor();
  });

  it('ends other sessions one by one, or all at once', async () => {
    const others = ['Firefox/140.0 (Android)', 'Firefox/140.0 (iPad)', 'Firefox/140.0 (Windows)'];
    const elsewhere = others.map((agent) => new PanelBrowser(running.url, { 'User-Agent': agent }));
    for (const each of elsewhere) await each.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    await page.reload();
    const sessions = part('Active sessions');
    await sessions.getByRole('button', { name: 'Sign out Firefox on iPad' }).click();
    await sessions.getByText('Firefox on iPad').waitFor({ state: 'detached' });
    const statuses = () => Promise.all(elsewhere.map(async (each) => (await each.ask('GET', '/me')).status));
    expect(await statuses()).toEqual([200, 401, 200]);
    await sessions.getByRole('button', { name: 'Sign out of all others' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out of all others' }).click();
    await sessions.getByText('Firefox on Android').waitFor({ state: 'detached' });
    expect(await statuses()).toEqual([401, 401, 401]);
    await sessions.getByText('This device').waitFor();
  });

  it('resets the password by a link that first names the sign-in methods it removes', async () => {
    const { id } = await database.db
      .selectFrom('member')
      .select('id')
      .where('email', '=', email)
      .executeTakeFirstOrThrow();
    await part('Passkeys').getByRole('button', { name: 'Add a passkey' }).click();
    await confirmWithPassword();
    await part('Passkeys').getByText('Chrome on Linux').waitFor();
    await signOut();
    const { link } = await running.admin.call<{ link: string }>('POST', `/members/${id}/password-reset-links`);
    await page.goto(link);
    await page.getByRole('heading', { name: 'Choose a new password' }).waitFor();
    const removed = page.getByRole('list', { name: 'Sign-in methods that are removed' });
    expect(await removed.getByRole('listitem').allTextContents()).toEqual([
      expect.stringMatching(/^Passkey .?Chrome on Linux.?Added on .+ · Never used$/),
    ]);
    await page.getByLabel('Password', { exact: true }).fill(NEW_PASSWORD);
    await press('Save and sign in');
    await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
    expect(page.url()).not.toContain('#');
    expect((await running.members.signInMethods.findMethods(id)).passkeys).toBe(0);
  });

  it('must enter an app code after a password reset link, on the same page', async () => {
    const { db } = database;
    const { id } = await db.selectFrom('member').select('id').where('email', '=', email).executeTakeFirstOrThrow();
    const { secret } = await running.members.secondFactors.beginSetup(id);
    const context = { actor: id, ip: '127.0.0.1', requestId: 'req_test' };
    const now = () => running.clock.now();
    await running.members.secondFactors.completeSetup(id, codeAt(fromBase32(secret), now()), context);
    await signOut();
    const { link } = await running.admin.call<{ link: string }>('POST', `/members/${id}/password-reset-links`);
    await page.goto(link);
    await page.getByText(/^The authenticator app added on .+ stays\./).waitFor();
    await page.getByLabel('Password', { exact: true }).fill(NEW_PASSWORD);
    await press('Save and sign in');
    running.clock.advance(MINUTE_MS);
    await page.getByLabel('Code from your authenticator app').fill(codeAt(fromBase32(secret), now()));
    await press('Continue');
    await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
  });

  it('without a password or passkey sees a banner until a password is set', async () => {
    const own = database.db.updateTable('member').where('email', '=', email);
    await own.set({ password: null }).execute();
    const banner = page.getByRole('alert').filter({ hasText: 'Set a password or add a passkey' });
    await page.goto(`http://localhost:${running.port}/${accountId}/usage`);
    await banner.getByRole('link', { name: 'Open your profile' }).click();
    await part('Password').getByText('No password set.').waitFor();
    await banner.waitFor();
    await press('Set password');
    const dialog = page.getByRole('dialog', { name: 'Set password' });
    await dialog.getByLabel('New password').fill(NEW_PASSWORD);
    await dialog.getByLabel('Confirm password').fill(NEW_PASSWORD);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await banner.waitFor({ state: 'detached' });
  });

  it('joins another account by a link, signed in already or by signing in on its page', async () => {
    const invite = async (address: string): Promise<string> => {
      const other = await running.admin.createAccount({ plan: 'starter', name: 'Mur Canoes' });
      const invitation = { email: address, role: 'viewer' };
      const path = `/accounts/${other.id}/invitations`;
      return (await running.admin.call<{ link: string }>('POST', path, invitation)).link;
    };
    const join = async (): Promise<void> => {
      await page.getByText(`You're signed in as ${email} and join as this member.`).waitFor();
      await page.getByRole('button', { name: 'Join', exact: true }).click();
      await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
    };
    await page.goto(await invite('another-address@example.com'));
    await join();
    await signOut();
    await page.goto(await invite(email));
    await page.getByLabel('Your name').fill('Ana');
    await page.getByLabel('Password', { exact: true }).fill(NEW_PASSWORD);
    await page.getByRole('button', { name: 'Join', exact: true }).click();
    await page.getByText('This address already belongs to a member').waitFor();
    await page.getByLabel('Password', { exact: true }).fill(GOOD_PASSWORD);
    await press('Sign in');
    await join();
    expect((await database.db.selectFrom('member').select('id').where('email', '=', email).execute()).length).toBe(1);
  });

  it('causes no browser errors or policy violations', () => {
    expect(browser.faults).toEqual([]);
  });
});
