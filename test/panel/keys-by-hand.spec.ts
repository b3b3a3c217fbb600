/** Creating a key in the panel: by keyboard, with an ended session, with a lost network, and with the back button. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { startPanel, type RunningPanel } from '../support/panel.js';
import { newPerson, signInThere } from '../support/panel-people.js';
import { tabTo as tabToOn } from '../support/keyboard.js';

const SECRET = /tg_(?:live|test)_[0-9A-Za-z]{36}/;

describeWithChromium('a key created in the panel', () => {
  let panel: RunningPanel;
  let browser: Browser;
  let page: Page;
  let home: string;

  beforeAll(async () => {
    [panel, browser] = await Promise.all([startPanel(), startBrowser()]);
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    page = await browser.newPage();
    // The browser asks before it leaves a page that shows a secret.
    page.on('dialog', (dialog) => void dialog.accept());
    const { id } = await panel.admin.createAccount({ plan: 'starter' });
    await signInThere(browser.context, await newPerson(panel, id, 'owner'), panel.site);
    home = `${panel.site}/${id}/api-keys`;
  });
  beforeEach(async () => {
    await page.goto(home);
    await page.getByRole('link', { name: 'Create API key' }).first().waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await panel?.close();
  });

  const press = async (...keys: readonly string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const secretNow = async (): Promise<string> => {
    await page.getByText('Copy your secret now').waitFor();
    return SECRET.exec((await page.textContent('[role=dialog]')) ?? '')?.[0] ?? '';
  };
  const tabTo = (name: string): Promise<void> => tabToOn(page, name);

  const store = async (): Promise<void> => {
    await tabTo("I've saved this");
    await press('Space');
    await tabTo('Done');
    await press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  };

  it('can be created, copied, rotated and revoked with the keyboard alone', async () => {
    await tabTo('Create API key');
    await press('Enter');
    await page.getByLabel('Name', { exact: true }).waitFor();
    await page.keyboard.type('By keyboard');
    await tabTo('Read only');
    await press('Enter');
    await tabTo('Create key');
    await press('Enter');
    const secret = await secretNow();
    await tabTo('Copy: Secret');
    await press('Enter');
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(secret);
    await store();
    await tabTo('By keyboard');
    await press('Enter');
    await page.getByRole('button', { name: 'Rotate key' }).waitFor();
    await tabTo('Rotate key');
    await press('Enter');
    await page.getByRole('button', { name: 'Create new secret' }).waitFor();
    // Select the choice before the default, which is a week.
    await tabTo('In 24 hours');
    await press('ArrowUp');
    expect(await page.getByLabel('In 7 days').isChecked()).toBe(true);
    await tabTo('Create new secret');
    await press('Enter');
    expect(await secretNow()).not.toBe(secret);
    await store();
    await page.getByText('The previous secret works until').waitFor();
    await tabTo('Revoke');
    await press('Enter');
    await page.getByRole('button', { name: 'Revoke key' }).waitFor();
    await tabTo('Revoke key');
    await press('Enter');
    await page.getByText('This key was revoked').waitFor();
    expect(await page.getByText('The previous secret works until').count()).toBe(0);
  });

  it('can be prefilled by the URL', async () => {
    await page.goto(`${new URL(home).origin}/api-keys/new?name=Booking%20widget&scopes=customers:read&expires_in=30d`);
    const name = page.getByLabel('Name', { exact: true });
    await name.waitFor();
    expect(await name.inputValue()).toBe('Booking widget');
    expect(await page.locator('input[type=checkbox][value="customers:read"]').isChecked()).toBe(true);
    expect(await page.getByLabel('30 days').isChecked()).toBe(true);
  });

  it('shows the external ID and metadata that programs have set', async () => {
    const accountId = new URL(home).pathname.split('/')[1] ?? '';
    const { id } = await panel.admin.call<{ id: string }>('POST', `/accounts/${accountId}/api-keys`, {
      name: 'Set by a program',
      scopes: ['customers:read'],
      external_id: 'site-7',
      metadata: { team: 'web' },
    });
    await page.goto(`${home}/${id}`);
    await page.getByText('External ID').waitFor();
    const text = (await page.textContent('main')) ?? '';
    expect([text.includes('site-7'), /Metadata\s*team\s*web/.test(text)]).toEqual([true, true]);
  });

  it('needs a confirmation to go back while its secret is shown, and then no longer shows it', async () => {
    await page.goto(`${home}/new?name=Back&scopes=customers:read`);
    await page.getByRole('button', { name: 'Create key' }).click();
    const secret = await secretNow();
    expect(secret).toMatch(SECRET);
    await page.goBack();
    await page.getByText('Close without saving?').waitFor();
    expect(await page.textContent('[role=dialog]')).toContain(secret);
    await page.getByRole('button', { name: 'Close anyway', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    for (const move of [() => page.goForward(), () => page.goBack(), () => page.reload()]) {
      await move();
      expect(await page.content()).not.toContain(secret);
    }
  });

  it('keeps what was typed when the network is lost, and is created only once', async () => {
    await page.goto(`${home}/new?name=Lost&scopes=customers:read`);
    const name = page.getByLabel('Name', { exact: true });
    await name.fill('Lost and found');
    // The key is created, but the response never arrives.
    await page.route('**/api-keys', async (route) => {
      if (route.request().method() !== 'POST') return route.fallback();
      await route.fetch();
      await route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText("Can't reach the server").waitFor();
    expect(await name.inputValue()).toBe('Lost and found');
    await page.unroute('**/api-keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('Copy your secret now').or(page.getByText('the connection dropped')).waitFor();
    await page.goto(home).catch(() => undefined);
    const made = page.getByRole('link', { name: 'Lost and found' });
    await made.first().waitFor();
    expect(await made.count()).toBe(1);
  });

  it('keeps what was typed when the session ends while the form is open', async () => {
    await page.goto(`${home}/new`);
    const name = page.getByLabel('Name', { exact: true });
    await name.fill('Typed for minutes');
    await page.locator('input[type=checkbox][value="customers:read"]').check();
    await browser.context.clearCookies();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('Your session expired.').waitFor();
    await page.getByRole('dialog', { name: 'Sign in again' }).getByRole('button', { name: 'Close' }).click();
    await page.getByText('You have been signed out').waitFor();
    expect(await name.inputValue()).toBe('Typed for minutes');
    expect(await page.locator('input[type=checkbox][value="customers:read"]').isChecked()).toBe(true);
    expect(browser.faults).toEqual([]);
  });
});
