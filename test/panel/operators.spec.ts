/**
 * Actions of operators in the panel: find, create, change and open accounts, adjust the usage of a month, and check
 * health.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { passTimeUntil, startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { startPanel, type RunningPanel } from '../support/panel.js';
import { pressByKeyboard, tabTo, takeFirst } from '../support/keyboard.js';
import { eventually } from '../support/processes.js';
import { memberWithPassword, newMember, signInAt } from '../support/signed-in.js';

const MANY = 120;

describeWithChromium('an operator', () => {
  let panel: RunningPanel;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    const gateway = { version: '0.0.9', processes: 2, targets: [], targetsLeftOut: 0, quotaStoreLostSinceMs: null };
    panel = await startPanel({ gateways: [{ ...gateway, node: 'gw-1:8080', ageMs: 90 }] });
    for (let index = 0; index < MANY; index++) {
      const number = String(index).padStart(3, '0');
      await panel.admin.createAccount({ plan: 'starter', name: `Rafting ${number}` });
    }
    browser = await startBrowser();
    page = await browser.newPage();
    await enter({ isOperator: true });
  });
  afterAll(async () => {
    await browser?.close();
    await panel?.close();
  });

  const enter = async (who: Parameters<typeof memberWithPassword>[2]): Promise<void> => {
    await browser.context.clearCookies();
    const { id } = await memberWithPassword(panel.database, panel, who);
    await signInAt(browser.context, panel, id);
    await page.goto(panel.site);
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  };
  const choose = async (label: string, option: string): Promise<void> => {
    await page.getByRole('dialog').getByRole('combobox', { name: label }).click();
    await page.getByRole('option', { name: option, exact: true }).click();
  };

  it('can switch to any of more than a hundred accounts', async () => {
    await page.getByRole('button', { name: /Switch account/ }).click();
    await page.getByText('There are more. Search to find the one you need.').waitFor();
    expect(await page.getByRole('option').count()).toBe(50);
    await page.getByRole('textbox', { name: 'Find an account' }).fill('ting 117');
    await page.getByRole('option', { name: 'Rafting 117' }).click();
    await page.getByRole('button', { name: 'Account: Rafting 117. Switch account' }).waitFor();
  });

  it('searches accounts, and can list all of them', async () => {
    await page.getByRole('link', { name: 'Accounts', exact: true }).click();
    await page.getByText('Showing 50 accounts').waitFor();
    await page.getByRole('button', { name: 'Load more' }).click();
    await page.getByText('Showing 100 accounts').waitFor();
    await page.getByRole('button', { name: 'Load more' }).click();
    await page.getByText('120 accounts', { exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Search accounts' }).fill('nobody');
    await page.getByText('No matching accounts').waitFor();
    await page.getByRole('searchbox', { name: 'Search accounts' }).fill('ting 003');
    await page.getByText('1 account', { exact: true }).waitFor();
  });

  it('creates an account once although the response is lost, and suspends it', async () => {
    await page.getByRole('button', { name: 'Create account' }).click();
    const dialog = page.getByRole('dialog', { name: 'New account' });
    await dialog.getByLabel('Name').fill('Éclair Canoes');
    await choose('Plan', 'starter');
    await page.route('**/admin/v1/accounts', async (route) => {
      if (route.request().method() !== 'POST') return route.fallback();
      await route.fetch();
      await route.abort('connectionreset');
    });
    await dialog.getByRole('button', { name: 'Create account' }).click();
    await dialog.getByText("Can't reach the server").waitFor();
    await page.unroute('**/admin/v1/accounts');
    await dialog.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('heading', { name: 'Members', exact: true }).waitFor();
    const found = await panel.admin.call<{ data: readonly object[] }>('GET', '/accounts?q=eclair');
    expect(found.data).toHaveLength(1);
    await page.getByRole('link', { name: 'Account', exact: true }).click();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByRole('dialog').getByLabel('Suspended').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('This account is suspended').waitFor();
  });

  it('is told if someone else changed the account meanwhile, and overwrites nothing', async () => {
    const { id } = await panel.admin.createAccount({ plan: 'starter', name: 'Two at once' });
    await page.goto(`${panel.site}/${id}/account`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Mine');
    await panel.admin.call('PATCH', `/accounts/${id}`, { name: 'Theirs' });
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('This was changed while you were editing').waitFor();
    expect(await panel.admin.call('GET', `/accounts/${id}`)).toMatchObject({ name: 'Theirs' });
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  });

  it('is told if someone else changed a member meanwhile, and sees the current role', async () => {
    const { id } = await panel.admin.createAccount({ plan: 'starter', name: 'Members of two' });
    const member = await newMember(panel.database, { roles: { [id]: 'viewer' } });
    await newMember(panel.database, { roles: { [id]: 'owner' }, email: 'zoe@example.com' });
    const theirs = (role: string) => panel.admin.call('PATCH', `/accounts/${id}/members/${member}`, { role });
    await page.goto(`${panel.site}/${id}/members`);
    const role = page.getByRole('combobox', { name: 'Role of Ana' }).first();
    await role.click();
    await theirs('owner');
    await page.getByRole('option', { name: 'Admin', exact: true }).click();
    const asked = page.getByRole('dialog', { name: 'Change the role of' });
    await asked.getByRole('button', { name: 'Change role' }).click();
    await asked.getByText('This was changed while you were editing').waitFor();
    await asked.getByRole('button', { name: 'Cancel' }).click();
    await eventually('the role to be read again', async () => (await role.inputValue()) === 'Owner');
    await page.getByRole('button', { name: 'Remove Ana' }).first().click();
    await theirs('admin');
    const dialog = page.getByRole('dialog', { name: /^Remove .*Ana/ });
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByText('This was changed while you were editing').waitFor();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.waitFor({ state: 'hidden' });
  });

  it('adjusts the monthly usage of an account with a reason, which is then listed', async () => {
    await page.goto(`${panel.site}/platform/adjustments`);
    await page.getByText('No adjustments yet').waitFor();
    await page.getByRole('button', { name: 'Adjust usage' }).click();
    const dialog = page.getByRole('dialog', { name: 'Adjust usage' });
    await dialog.getByRole('combobox', { name: 'Account' }).fill('ting 007');
    await page.getByRole('option', { name: 'Rafting 007' }).click();
    const amount = dialog.getByLabel('Additional requests');
    await dialog.getByLabel('Reason').fill('Trade fair weekend');
    for (const [typed, reason] of [
      ['0', 'Enter 1 or more.'],
      ['-5', 'Enter 1 or more.'],
      ['1.5', 'Enter a whole number.'],
      ['1e3', 'Enter a number.'],
    ] as const) {
      await amount.fill(typed);
      await amount.blur();
      await dialog.getByRole('button', { name: 'Continue' }).click();
      await dialog.getByText(reason).waitFor();
      expect(await amount.inputValue()).toBe(typed);
    }
    await amount.fill('500');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText("This can't be changed later.").waitFor();
    await dialog.getByRole('button', { name: 'Adjust usage' }).click();
    // The plan of the tests has no limit for all keys together.
    await dialog.getByText('No limit to raise').waitFor();
    await dialog.getByRole('button', { name: 'Back' }).click();
    await dialog.getByLabel('Set the requests used this month').check();
    await dialog.getByLabel('Requests used', { exact: true }).fill('1,200');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText(/^Sets the requests used in .* to 1,200\.$/).waitFor();
    await dialog.getByRole('button', { name: 'Adjust usage' }).click();
    await page.getByText('Usage set to 1,200 · Trade fair weekend').waitFor();
    await page.getByRole('link', { name: 'Rafting 007' }).click();
    await page.getByText('Trade fair weekend').waitFor();
  });

  it('sees in Health that versions differ and that nothing is deprecated', async () => {
    await page.getByRole('link', { name: 'Health' }).click();
    await page.getByText('More than one version is running.').waitFor();
    await page.getByText('version 0.0.9').waitFor();
    await page.getByText('Nothing is deprecated.').waitFor();
  });

  it('can create an account and adjust a month with the keyboard alone', async () => {
    await page.goto(`${panel.site}/platform/accounts`);
    await page.getByText('Showing 50 accounts').waitFor();
    await pressByKeyboard(page, 'Create account');
    await page.getByRole('dialog').waitFor();
    await tabTo(page, 'Name');
    await page.keyboard.type('By keyboard');
    await tabTo(page, 'Plan');
    await page.keyboard.press('Enter');
    await takeFirst(page);
    await pressByKeyboard(page, 'Create account');
    await page.getByRole('heading', { name: 'Members', exact: true }).waitFor();
    await page.goto(`${panel.site}/platform/adjustments`);
    await page.getByText('Trade fair weekend').waitFor();
    await pressByKeyboard(page, 'Adjust usage');
    await tabTo(page, 'Account');
    await page.keyboard.type('by keyb');
    // The account switcher of the page has a list with the same account.
    const choices = page.getByRole('listbox', { name: 'Account', exact: true });
    await choices.getByRole('option', { name: 'By keyboard' }).waitFor();
    await takeFirst(page);
    await tabTo(page, 'Add requests for this month');
    await page.keyboard.press('ArrowDown');
    await tabTo(page, 'Requests used');
    await page.keyboard.type('7');
    await tabTo(page, 'Reason');
    await page.keyboard.type('By keyboard alone');
    await pressByKeyboard(page, 'Continue');
    await pressByKeyboard(page, 'Adjust usage');
    await page.getByText('Usage set to 7 · By keyboard alone').waitFor();
  });

  it('without a network is told so, keeps read and typed data, and continues when it is back', async () => {
    const lost = page.getByText("Can't reach the server");
    await page.clock.install();
    await page.goto(`${panel.site}/platform/health`);
    await page.getByText('version 0.0.9').waitFor();
    await browser.context.setOffline(true);
    await page.getByRole('link', { name: 'Accounts', exact: true }).click();
    await page.getByRole('link', { name: 'Health' }).click();
    await page.getByText('version 0.0.9').waitFor();
    await page.getByRole('link', { name: 'Accounts', exact: true }).click();
    const search = page.getByRole('searchbox', { name: 'Search accounts' });
    await search.fill('ting 003');
    await passTimeUntil(page, 'the page shows that the server cannot be reached', () => lost.first().isVisible());
    await browser.context.setOffline(false);
    await page.getByText('1 account', { exact: true }).waitFor();
    expect(await search.inputValue()).toBe('ting 003');
    expect(await lost.count()).toBe(0);
    await page.getByRole('link', { name: 'Adjustments' }).click();
    await page.getByRole('button', { name: 'Adjust usage' }).click();
    const dialog = page.getByRole('dialog', { name: 'Adjust usage' });
    await dialog.getByRole('combobox', { name: 'Account' }).fill('by keyb');
    const choices = page.getByRole('listbox', { name: 'Account', exact: true });
    await choices.getByRole('option', { name: 'By keyboard' }).click();
    await dialog.getByLabel('Reset usage to zero').check();
    await dialog.getByLabel('Reason').fill('Typed before the network went');
    await browser.context.setOffline(true);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByRole('button', { name: 'Adjust usage' }).click();
    await dialog.getByText("Can't reach the server").waitFor();
    await browser.context.setOffline(false);
    await dialog.getByRole('button', { name: 'Adjust usage' }).click();
    await page.getByText('Usage reset to zero · Typed before the network went').waitFor();
  });

  it('has pages that an owner sees neither in the navigation nor at their URLs', async () => {
    const { id } = await panel.admin.createAccount({ plan: 'starter', name: 'Of an owner' });
    await enter({ roles: { [id]: 'owner' } });
    await page.getByRole('link', { name: 'API keys' }).first().waitFor();
    expect(await page.getByRole('link', { name: /^(Accounts|Adjustments|Health)$/ }).count()).toBe(0);
    for (const path of ['accounts', 'adjustments', 'health']) {
      await page.goto(`${panel.site}/platform/${path}`);
      await page.getByText('Page not found').waitFor();
    }
    await page.goto(`${panel.site}/${id}/account`);
    await page.getByRole('heading', { name: 'Account', exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Edit', exact: true }).count()).toBe(0);
  });

  it('causes no browser errors or policy violations', () => {
    expect(browser.faults).toEqual([]);
  });
});
