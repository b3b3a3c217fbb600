/** The members page in each role: it offers what the API allows there, and nothing that the API refuses. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { Role } from '../../src/members/permissions.js';
import { hasRead, startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { startPanel, type RunningPanel } from '../support/panel.js';
import { memberWithPassword, newMember, PanelBrowser, signInAt } from '../support/signed-in.js';

describeWithChromium('the members page', () => {
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
    await newMember(panel.database, { roles: { [accountId]: 'owner' }, email: `olaf-${accountId}@example.com` });
    await newMember(panel.database, { roles: { [accountId]: 'viewer' }, email: `vera-${accountId}@example.com` });
    await invite('owner');
    await invite('viewer');
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

  const invite = (role: Role, email = `new-${role}@example.com`) =>
    panel.admin.call('POST', `/accounts/${accountId}/invitations`, { email, role });
  const enter = async (path: string, options: Parameters<typeof memberWithPassword>[2]): Promise<void> => {
    const { id } = await memberWithPassword(panel.database, panel, options);
    await signInAt(browser.context, panel, id);
    await page.goto(`${panel.site}/${accountId}/${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await hasRead(page);
  };
  const line = (start: string) => page.getByRole('listitem').filter({ hasText: start });
  const takeBack = (role: Role) => page.getByRole('button', { name: `Revoke invitation of new-${role}@example.com` });
  const suspend = () => panel.admin.call('PATCH', `/accounts/${accountId}`, { status: 'suspended' });

  it('offers admins no action on owners: they can neither invite, change, remove nor revoke one', async () => {
    await enter('members', { roles: { [accountId]: 'admin' } });
    await line('vera-').getByRole('combobox').click();
    expect(await page.getByRole('option').allTextContents()).toEqual(['Admin', 'Viewer']);
    await page.keyboard.press('Escape');
    expect(await line('vera-').getByRole('button').count()).toBe(1);
    expect(await line('olaf-').getByRole('combobox').count()).toBe(0);
    expect(await line('olaf-').getByRole('button').count()).toBe(0);
    await line('olaf-').getByText('Owner').waitFor();
    expect(await takeBack('viewer').count()).toBe(1);
    expect(await takeBack('owner').count()).toBe(0);
    await page.getByRole('button', { name: 'Invite member' }).click();
    await page.getByRole('dialog').getByRole('combobox', { name: 'Role' }).click();
    expect(await page.getByRole('option').allTextContents()).toEqual(['Admin', 'Viewer']);
  });

  it('offers owners all actions, but none while the account is suspended', async () => {
    await enter('members', { roles: { [accountId]: 'owner' } });
    await line('vera-').getByRole('combobox').click();
    expect(await page.getByRole('option').allTextContents()).toEqual(['Owner', 'Admin', 'Viewer']);
    expect(await takeBack('owner').count()).toBe(1);
    await suspend();
    await page.reload();
    await page.getByText('You can view everything, but not make changes.').waitFor();
    await line('vera-').waitFor();
    await hasRead(page);
    expect(await page.getByRole('main').getByRole('button').count()).toBe(0);
    expect(await page.getByRole('main').getByRole('combobox').count()).toBe(0);
    await page.getByText('new-owner@example.com').waitFor();
  });

  it('leaves operators their actions in a suspended account, on other pages too', async () => {
    const key = await panel.admin.createKey(accountId, { name: 'Shop', scopes: ['customers:read'] });
    await suspend();
    await enter(`api-keys/${key.id}`, { isOperator: true });
    await page.getByText('Operators can make changes.').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Pause key' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    await page.getByRole('link', { name: 'Members' }).click();
    await takeBack('owner').click();
    await takeBack('owner').waitFor({ state: 'detached' });
  });

  it('offers to resend if an address is already invited, and only that ends the first link', async () => {
    await enter('members', { roles: { [accountId]: 'owner' } });
    const { link } = await panel.admin.call<{ link: string }>('POST', `/accounts/${accountId}/invitations`, {
      email: 'twice@example.com',
      role: 'admin',
    });
    const read = (url: string) => new PanelBrowser(panel.url).ask('POST', '/links/read', { token: url.split('#')[1] });
    await page.getByRole('button', { name: 'Invite member' }).click();
    await page.getByLabel('Email').fill('Twice@example.com');
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    await page.getByText('twice@example.com is already invited (Admin).').waitFor();
    expect((await read(link)).status).toBe(200);
    await page.getByRole('dialog').getByRole('button', { name: 'Resend' }).click();
    const second = (await page.getByRole('dialog').locator('.secret').textContent()) ?? '';
    expect([(await read(link)).status, (await read(second)).status]).toEqual([410, 200]);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Resend the invitation of twice@example.com' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resend' }).click();
    const third = (await page.getByRole('dialog').locator('.secret').textContent()) ?? '';
    expect([(await read(second)).status, (await read(third)).status]).toEqual([410, 200]);
    await page.getByRole('button', { name: 'Done' }).click();
  });

  it('lists more than a hundred members and invitations completely', async () => {
    for (let index = 0; index < 101; index++) await newMember(panel.database, { roles: { [accountId]: 'viewer' } });
    await panel.database.db.updateTable('link').set({ expires_at: 1 }).where('account_id', '=', accountId).execute();
    await invite('viewer', 'first@example.com');
    for (let index = 0; index < 101; index++) await invite('viewer', `over-${index}@example.com`);
    const over = panel.database.db.updateTable('link').set({ revoked_at: 1 }).where('account_id', '=', accountId);
    await over.where('email_key', 'like', 'over-%').execute();
    await enter('members', { isOperator: true });
    const rows = page.getByRole('main').getByRole('listitem');
    await rows.nth(99).waitFor();
    expect(await rows.count()).toBe(100);
    const more = page.getByRole('button', { name: 'Load more' });
    await more.first().click();
    await rows.nth(102).waitFor();
    await page.getByText('The latest invitations are all accepted or expired.').waitFor();
    await more.click();
    await page.getByText('first@example.com').waitFor();
    expect(await more.count()).toBe(0);
  });

  it('causes no browser errors or policy violations', () => {
    expect(browser.faults).toEqual([]);
  });
});
