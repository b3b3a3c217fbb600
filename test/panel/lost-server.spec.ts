/** A session that ends while a form is open, a program that crashes, and a network that is lost and restored. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { hasRead, passTimeUntil, startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { newPerson, panelUrlOf, signInThere, typePassword, type Person } from '../support/panel-people.js';
import { freePort, temporaryFolder } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate, type TrailgateOptions } from '../support/program.js';

describeWithChromium('a page of the panel', () => {
  let options: TrailgateOptions;
  let trailgate: RunningTrailgate;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let person: Person;
  let key: ApiKeyWithSecret;
  let accountId: string;

  beforeAll(async () => {
    const config = { admin: { port: await freePort() } };
    options = { config, dataDir: temporaryFolder('data'), adminToken: `test-admin-${'0'.repeat(40)}` };
    [trailgate, browser] = await Promise.all([startTrailgate(options), startBrowser()]);
    accountId = (await trailgate.admin.createAccount({ plan: 'starter' })).id;
    key = await trailgate.admin.createKey(accountId, { name: 'Shop', scopes: ['customers:read'] });
  });
  beforeEach(async () => {
    person = await newPerson(trailgate, accountId, 'owner');
    context = await browser.newContext();
    await signInThere(context, person, panelUrlOf(trailgate));
    page = await context.newPage();
  });
  afterEach(() => context.close());
  afterAll(async () => {
    await browser?.close();
    await trailgate?.stop();
  });

  const open = async (path: string): Promise<void> => {
    await page.goto(`${panelUrlOf(trailgate)}/${accountId}/${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await hasRead(page);
  };
  /** Ends the session from outside, as a timeout or another device does. The page does not know. */
  const endSession = () => person.session.call('POST', '/sign-out');
  const signInAgain = async (): Promise<void> => {
    const dialog = page.getByRole('dialog', { name: 'Sign in again' });
    await dialog.waitFor();
    // The email is prefilled, so that nobody signs in as another member by mistake.
    expect(await dialog.getByLabel('Email').inputValue()).toBe(person.email);
    await typePassword(page, person);
    await dialog.waitFor({ state: 'hidden' });
  };
  const typeKey = async (name: string): Promise<void> => {
    await open('api-keys/new');
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.locator('input[type=checkbox][value="customers:read"]').check();
  };
  const createKey = () => page.getByRole('button', { name: 'Create key' }).click();
  const countKeys = async (name: string) =>
    (await trailgate.admin.listKeys(accountId)).data.filter((each) => each.name === name).length;

  it('continues with the typed text after its session ended and the member signed in again', async () => {
    await typeKey('Typed for minutes');
    await endSession();
    await createKey();
    await signInAgain();
    await page.getByText('Copy your secret now').waitFor();
    expect(await countKeys('Typed for minutes')).toBe(1);
  });

  it('keeps typed text if its session ended while it was left open, whichever request finds out first', async () => {
    await page.clock.install();
    await typeKey('Typed before lunch');
    const name = page.getByLabel('Name', { exact: true });
    await endSession();
    // Long enough that the page checks the session again.
    await page.clock.fastForward('02:00');
    await createKey();
    await signInAgain();
    await page.getByText('Copy your secret now').waitFor();
    expect(await countKeys('Typed before lunch')).toBe(1);
    await typeKey('Typed before the walk');
    await context.clearCookies();
    await page.clock.fastForward('02:00');
    await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`);
    await signInAgain();
    expect(await name.inputValue()).toBe('Typed before the walk');
    await createKey();
    await page.getByText('Copy your secret now').waitFor();
  });

  it('marks polling requests as unattended if the user is inactive', async () => {
    await page.clock.install();
    await open('usage');
    const nextRead = async () => {
      const request = page.waitForRequest((each) => each.url().includes('/usage'));
      await page.clock.fastForward('00:31');
      const headers = (await request).headers();
      // The page does not start a read again while it is still running.
      await hasRead(page);
      return headers['x-unattended'];
    };
    await page.keyboard.press('Shift');
    expect(await nextRead()).toBeUndefined();
    await page.clock.fastForward('01:10');
    await hasRead(page);
    expect(await nextRead()).toBe('1');
    await page.keyboard.press('Shift');
    expect(await nextRead()).toBeUndefined();
  });

  it('polls usage every 30 seconds, and after a 429 shows how long to wait and waits that long', async () => {
    await page.clock.install();
    await open('usage');
    let asked = 0;
    page.on('request', (request) => void (asked += request.url().includes('/usage?') ? 1 : 0));
    await page.clock.runFor(60_000);
    await hasRead(page);
    // Three queries in two rounds.
    expect(asked).toBeLessThanOrEqual(6);
    expect(asked).toBeGreaterThan(0);
    const body = JSON.stringify({ status: 429, code: 'too_many_requests', detail: 'Too many requests.' });
    await page.route('**/usage?**', (route) => route.fulfill({ status: 429, headers: { 'Retry-After': '90' }, body }));
    await page.clock.runFor(31_000);
    await page.getByText('Try again in 2 minutes').first().waitFor();
    asked = 0;
    await page.clock.runFor(55_000);
    expect(asked).toBe(0);
    await page.unroute('**/usage?**');
    await page.clock.runFor(40_000);
    await page.getByText('Try again in 2 minutes').first().waitFor({ state: 'hidden' });
    expect(asked).toBeGreaterThan(0);
  });

  it('that gets a 429 when it is opened shows how long to wait, and then opens by itself', async () => {
    await page.clock.install();
    const body = JSON.stringify({ status: 429, code: 'too_many_requests', detail: 'Too many requests.' });
    const headers = { 'Retry-After': '47' };
    await page.route('**/admin/v1/me', (route) => route.fulfill({ status: 429, headers, body }));
    await page.goto(`${panelUrlOf(trailgate)}/${accountId}/api-keys`);
    await page.getByText('Try again in 47 seconds').waitFor();
    await page.unroute('**/admin/v1/me');
    await page.clock.runFor(48_000);
    await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
  });

  it('continues an edit, a rotation and an invitation after its session has ended', async () => {
    await open(`api-keys/${key.id}`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill('Shop in Linz');
    await endSession();
    await page.getByRole('button', { name: 'Save' }).click();
    await signInAgain();
    await page.getByRole('heading', { name: 'Shop in Linz' }).waitFor();
    await page.getByRole('button', { name: 'Rotate key' }).click();
    await page.getByLabel('In 7 days').check();
    await context.clearCookies();
    await page.getByRole('button', { name: 'Create new secret' }).click();
    await signInAgain();
    await page.getByText('Copy your secret now').waitFor();
    await page.getByLabel("I've saved this secret").check();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('link', { name: 'Members' }).click();
    await page.getByRole('button', { name: 'Invite member' }).click();
    await page.getByLabel('Email').fill('eva@example.com');
    await context.clearCookies();
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    await signInAgain();
    await page.getByText('Share this link only with eva@example.com').waitFor();
  });

  it('reports a crash of the program, keeps what was typed, and continues after a restart', async () => {
    await typeKey('Typed before the end');
    await trailgate.kill9();
    await createKey();
    await page.getByText("Can't reach the server").waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Typed before the end');
    await createKey();
    await page.getByText("Can't reach the server").waitFor();
    trailgate = await startTrailgate(options);
    await createKey();
    await page.getByText('Copy your secret now').waitFor();
    expect(await countKeys('Typed before the end')).toBe(1);
  });

  it('that is opened while the program is down can be opened after a restart', async () => {
    await open('api-keys');
    await trailgate.kill9();
    await page.getByRole('link', { name: 'Explain' }).click();
    const again = page.getByRole('main').getByRole('button', { name: 'Try again' });
    await again.waitFor();
    await page.getByText("Can't reach the server").waitFor();
    await again.click();
    await again.waitFor();
    // The other pages still work.
    await page.getByRole('link', { name: 'API keys' }).first().click();
    await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Explain' }).click();
    trailgate = await startTrailgate(options);
    await again.click();
    await page.getByRole('heading', { name: 'Explain', exact: true }).waitFor();
  });

  it('without a network says so, keeps read and typed data, and continues when it is back', async () => {
    await page.clock.install();
    await open('api-keys');
    await page.getByRole('link', { name: 'Shop in Linz' }).waitFor();
    const lost = page.getByText("Can't reach the server");
    await context.setOffline(true);
    await page.getByLabel('Search keys').fill('Linz');
    await passTimeUntil(page, 'the page shows that the server cannot be reached', () => lost.isVisible());
    expect(await page.getByLabel('Search keys').inputValue()).toBe('Linz');
    await context.setOffline(false);
    await page.getByRole('link', { name: 'Shop in Linz' }).waitFor();
    await context.setOffline(true);
    await page.getByRole('main').getByRole('link', { name: 'Shop in Linz' }).click();
    await passTimeUntil(page, 'the page of the key shows that the server cannot be reached', () => lost.isVisible());
    await page.goBack();
    await page.getByRole('link', { name: 'Shop in Linz' }).waitFor();
    await context.setOffline(false);
    await page.getByLabel('Search keys').fill('nothing is called so');
    await page.getByText('No matching keys').waitFor();
    expect(await lost.count()).toBe(0);
  });

  it('reports a failed pause or impact request, and offers to try again', async () => {
    await open(`api-keys/${key.id}`);
    const lost = page.getByRole('alert').getByText("Can't reach the server");
    await page.route('**/pause', (route) => route.abort());
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Pause key' }).click();
    await lost.waitFor();
    await page.unroute('**/pause');
    await page.getByRole('button', { name: 'Pause key' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    expect(await lost.count()).toBe(0);
    await page.route('**/impact', (route) => route.fulfill({ status: 500, json: { code: 'internal_error' } }));
    await page.reload();
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke this key?' });
    await dialog.getByText("Couldn't load recent usage.").waitFor();
    await page.unroute('**/impact');
    await dialog.getByRole('button', { name: 'Try again' }).click();
    await dialog.getByText('No requests since yesterday.').waitFor();
    expect(await dialog.getByRole('button', { name: 'Revoke key' }).isEnabled()).toBe(true);
  });

  it('that sums up usage reads all pages, and says so if there are too many', async () => {
    let pages = 2;
    await page.route(/\/usage\?group_by=operation/, async (route) => {
      const response = await route.fetch();
      const at = Number(new URL(route.request().url()).searchParams.get('cursor') ?? '1');
      const data = [{ operation: `operation-${at}`, outcome: 'success', requests: at, cost: at }];
      const next = at < pages ? String(at + 1) : null;
      // The cursor is made up, so the program has answered with an error.
      const read = at === 1 ? ((await response.json()) as object) : {};
      await route.fulfill({ status: 200, json: { ...read, data, has_more: next !== null, next_cursor: next } });
    });
    await open('usage');
    const table = page.getByRole('region', { name: 'Operation' });
    await table.getByText('operation-2').waitFor();
    const cut = page.getByText('This table is incomplete.');
    expect(await cut.count()).toBe(0);
    pages = 9;
    await page.reload();
    await cut.waitFor();
    expect(await table.getByText('operation-5').count()).toBe(1);
    expect(await table.getByText('operation-6').count()).toBe(0);
  });

  it('causes no browser errors or policy violations', () => {
    expect(browser.faults).toEqual([]);
  });
});
