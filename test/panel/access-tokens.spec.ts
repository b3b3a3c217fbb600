/** The access tokens page: creation with a secret that is shown once, the list of tokens, and revocation. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { axeFindings, hasRead, startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { startPanel, type RunningPanel } from '../support/panel.js';
import { send } from '../support/http.js';
import { memberWithPassword, newMember, signInAt } from '../support/signed-in.js';

const SECRET = /tga_[0-9A-Za-z]{36}/;
const DAY_MS = 86_400_000;

describeWithChromium('the access tokens page', () => {
  let panel: RunningPanel;
  let browser: Browser;
  let page: Page;
  let accountId: string;

  beforeAll(async () => {
    panel = await startPanel();
    browser = await startBrowser();
  });
  beforeEach(async () => {
    accountId = (await panel.admin.createAccount({ plan: 'starter' })).id;
    page = await browser.newPage();
  });
  afterEach(async () => {
    await browser.context.clearCookies();
    await page.close();
  });
  afterAll(async () => {
    await browser?.close();
    await panel?.close();
  });

  const enter = async (path: string, role: 'owner' | 'admin' | 'viewer'): Promise<void> => {
    const { id } = await memberWithPassword(panel.database, panel, { roles: { [accountId]: role } });
    await signInAt(browser.context, panel, id);
    await page.goto(`${panel.site}/${accountId}/${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await hasRead(page);
  };
  const statusOf = async (secret: string, method = 'GET', body?: object) => {
    const url = `${panel.url}/admin/v1/accounts/${accountId}/api-keys`;
    const headers = { Authorization: `Bearer ${secret}` };
    return (await send(url, { method, headers, ...(body === undefined ? {} : { body }) })).status;
  };
  const dayIn = (days: number, timeZone: string): string =>
    new Intl.DateTimeFormat('sv-SE', { timeZone }).format(panel.clock.now() + days * DAY_MS);
  const row = (name: string) => page.getByRole('main').getByRole('listitem').filter({ hasText: name });
  const dialog = () => page.getByRole('dialog');
  const create = async (name: string): Promise<string> => {
    await page.getByRole('link', { name: 'Create access token' }).first().click();
    await dialog().getByLabel('Name').fill(name);
    await dialog().getByLabel('Admin').check();
    await dialog().getByRole('button', { name: 'Create token' }).click();
    await dialog().getByText('Copy your secret now').waitFor();
    return SECRET.exec((await dialog().textContent()) ?? '')?.[0] ?? '';
  };
  const store = async (): Promise<void> => {
    await dialog().getByLabel("I've saved this secret").check();
    await dialog().getByRole('button', { name: 'Done' }).click();
    await dialog().waitFor({ state: 'hidden' });
  };

  it('creates a token with the chosen role, shows its secret once, and lists creator, expiry and use', async () => {
    await enter('access-tokens', 'owner');
    await page.getByRole('heading', { name: 'No access tokens yet' }).waitFor();
    const secret = await create('Deployment');
    // Going back, or Escape, does not lose the secret.
    await page.keyboard.press('Escape');
    await dialog().getByText('Close without saving?').waitFor();
    await dialog().getByRole('button', { name: 'Go back' }).click();
    await page.goBack();
    await dialog().getByText('Close without saving?').waitFor();
    await dialog().getByRole('button', { name: 'Go back' }).click();
    expect(await axeFindings(page)).toEqual([]);
    await store();
    expect(await page.content()).not.toContain(secret);
    await row('Deployment')
      .getByText(/^Created by Ana on .* · Expires /)
      .waitFor();
    await row('Deployment').getByText('Never used').waitFor();
    await row('Deployment').getByText('Active', { exact: true }).waitFor();
    await row('Deployment').getByText('Admin', { exact: true }).waitFor();
    expect(await statusOf(secret)).toBe(200);
    expect(await statusOf(secret, 'POST', { name: 'x', scopes: ['customers:read'] })).toBe(201);
    await page.reload();
    await row('Deployment')
      .getByText(/^Last used /)
      .waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });

  it('revokes a token after a confirmation', async () => {
    await enter('access-tokens', 'admin');
    const secret = await create('Pipeline');
    await store();
    await page.getByRole('button', { name: 'Revoke Pipeline' }).click();
    await dialog().getByText('Requests using this token fail immediately.').waitFor();
    await dialog().getByRole('button', { name: 'Cancel' }).click();
    expect(await statusOf(secret)).toBe(200);
    await page.getByRole('button', { name: 'Revoke Pipeline' }).click();
    await dialog().getByRole('button', { name: 'Revoke token' }).click();
    await row('Pipeline').getByText('Revoked', { exact: true }).waitFor();
    expect(await statusOf(secret)).toBe(401);
    expect(await page.getByRole('button', { name: 'Revoke Pipeline' }).count()).toBe(0);
  });

  it('shows an error at the field, and offers the dates of the next 365 days', async () => {
    await page.clock.setSystemTime(panel.clock.now());
    await enter('access-tokens/new', 'owner');
    await dialog().getByLabel('Name').fill('CI');
    await dialog().getByLabel('Allowed IP addresses').fill('nowhere');
    await dialog().getByRole('button', { name: 'Create token' }).click();
    await dialog().getByText('Enter addresses such as 203.0.113.7').waitFor();
    await dialog().getByLabel('Custom date').check();
    const last = (await dialog().getByLabel('Last day').getAttribute('max')) ?? '';
    expect(last).toBe(dayIn(365, (await panel.admin.getAccount(accountId)).time_zone));
  });

  it('is hidden from viewers, and names the creators of tokens who have left', async () => {
    const creator = await newMember(panel.database, { roles: { [accountId]: 'admin' } });
    const input = { name: 'Old', role: 'admin' as const, expires_at: '2026-12-31T00:00:00Z', allowed_ips: [] };
    const context = { actor: creator, ip: '127.0.0.1', requestId: 'req_test' };
    await panel.members.tokens.create(accountId, input, context);
    await panel.admin.call('DELETE', `/accounts/${accountId}/members/${creator}`);
    await enter('access-tokens', 'owner');
    await row('Old').getByText('Revoked', { exact: true }).waitFor();
    await row('Old')
      .getByText(/^Created by Ana on /)
      .waitFor();
    await browser.context.clearCookies();
    await enter('api-keys', 'viewer');
    expect(await page.getByRole('link', { name: 'Access tokens' }).count()).toBe(0);
    await page.goto(`${panel.site}/${accountId}/access-tokens`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await page.getByRole('heading', { name: 'Access tokens' }).count()).toBe(0);
  });

  // Behind the tests that need today's date, because it turns the clock by a year.
  it('creates a token that is accepted until the end of its last day, and refused afterwards', async () => {
    const timeZone = 'Pacific/Kiritimati';
    accountId = (await panel.admin.createAccount({ plan: 'starter', time_zone: timeZone })).id;
    await page.clock.setSystemTime(panel.clock.now());
    await enter('access-tokens/new', 'owner');
    await dialog().getByLabel('Name').fill('Last day');
    await dialog().getByLabel('Custom date').check();
    // The last day that the form offers must be one that the API accepts.
    const lastDay = (await dialog().getByLabel('Last day').getAttribute('max')) ?? '';
    await dialog().getByLabel('Last day').fill(lastDay);
    await dialog().getByRole('button', { name: 'Create token' }).click();
    await dialog().getByText('Copy your secret now').waitFor();
    const secret = SECRET.exec((await dialog().textContent()) ?? '')?.[0] ?? '';
    // The last second of that day, 14 hours ahead of UTC.
    const endMs = Date.parse(`${lastDay}T23:59:59+14:00`);
    panel.clock.advance(endMs - 1 - panel.clock.now());
    expect(await statusOf(secret)).toBe(200);
    panel.clock.advance(1);
    expect(await statusOf(secret)).toBe(401);
  });

  it('causes no browser errors or policy violations', () => {
    expect(browser.faults).toEqual([]);
  });
});
