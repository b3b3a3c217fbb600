/** Portal sessions: a link from a company's own site opens one account without another sign-in, and works once. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { startPanel, type RunningPanel } from '../support/panel.js';

const SITE = 'https://app.example.com';

describeWithChromium('a portal user', () => {
  let panel: RunningPanel;
  let browser: Browser;
  let accountId: string;
  let url: string;
  let page: Page;

  beforeAll(async () => {
    const settings = { portal: { returnOrigins: [SITE] } };
    [panel, browser] = await Promise.all([startPanel({ settings }), startBrowser()]);
    accountId = (await panel.admin.createAccount({ name: 'Isar Rafting', plan: 'starter' })).id;
    await panel.admin.createAccount({ name: 'Of somebody else', plan: 'starter' });
    await panel.admin.createKey(accountId, { name: 'Shop', scopes: ['customers:read'] });
    await panel.admin.createKey(accountId, { name: 'Back office', scopes: ['*'] });
    const wanted = { account_id: accountId, role: 'admin', scopes: ['customers:read'], return_url: `${SITE}/settings` };
    ({ url } = await panel.admin.call<{ url: string }>('POST', '/portal-sessions', wanted));
    page = await browser.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await panel?.close();
  });

  it('enters one account by a link without a password, and has a link back', async () => {
    await page.goto(url);
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await page.getByRole('link', { name: 'Shop' }).first().waitFor();
    expect(await page.textContent('header')).toContain('Isar Rafting');
    // The scopes cover neither that key nor webhooks.
    expect(await page.getByRole('link', { name: 'Back office' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Webhooks' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: /Switch account/ }).count()).toBe(0);
    await page.getByRole('button', { name: 'Account menu' }).click();
    const back = page.getByRole('link', { name: 'Back', exact: true });
    expect(await back.getAttribute('href')).toBe(`${SITE}/settings`);
  });

  it('creates keys only with the scopes of the session', async () => {
    await page.goto(`${new URL(page.url()).origin}/${accountId}/api-keys/new?name=Widget`);
    await page.locator('input[value="customers:read"]').check();
    expect(await page.locator('input[value="customers:write"]').count()).toBe(0);
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('Copy your secret now').waitFor();
    const { data } = await panel.admin.listKeys(accountId);
    expect(data.find(({ name }) => name === 'Widget')?.scopes).toEqual(['customers:read']);
  });

  it('sees a link back instead of a sign-in when the session has ended', async () => {
    await page.goto(`${new URL(page.url()).origin}/${accountId}/api-keys`);
    await page.getByRole('link', { name: 'Shop' }).first().waitFor();
    await panel.admin.call('DELETE', `/accounts/${accountId}/portal-sessions`);
    // The page may have noticed already by polling. The dialog then covers the link.
    await page.getByRole('link', { name: 'Usage' }).dispatchEvent('click');
    const dialog = page.getByRole('dialog', { name: 'You are signed out' });
    const back = dialog.getByRole('link', { name: 'Back to the previous site' });
    expect(await back.getAttribute('href')).toBe(`${SITE}/settings`);
    expect(await dialog.getByLabel('Email').count()).toBe(0);
  });

  it('cannot use the link a second time', async () => {
    const other = await (await browser.newContext()).newPage();
    await other.goto(url);
    await other.getByRole('heading', { name: 'This link does not work' }).waitFor();
    expect(await other.getByRole('link', { name: 'Shop' }).count()).toBe(0);
  });

  it('causes no browser errors or policy violations', () => {
    expect(browser.faults).toEqual([]);
  });
});
