/** The panel finds a request by its ID, shows why it got a 403, and explains each check for such a request now. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { hasRead, passTimeUntil, startBrowser, type Browser } from '../support/browser.js';
import { startDemo, type RunningDemo } from '../support/demo.js';
import { describeWithChromium } from '../support/describe-with.js';
import { AdminClient } from '../support/admin.js';
import { send } from '../support/http.js';
import { eventually } from '../support/processes.js';

describeWithChromium('the owner of a key', () => {
  let demo: RunningDemo;
  let browser: Browser;
  let page: Page;
  let home: string;
  let admin: AdminClient;
  let accountId: string;
  let key: { readonly id: string; readonly secret: string };

  beforeAll(async () => {
    [demo, browser] = await Promise.all([startDemo(), startBrowser()]);
    page = await browser.newPage();
    await page.goto(demo.link);
    await page.getByRole('button', { name: 'Continue to dashboard' }).click();
    await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
    home = page.url().replace('/api-keys', '');
    admin = new AdminClient(demo.adminUrl, readFileSync(`${demo.dataDir}/admin-token`, 'utf8').trim());
    accountId = home.split('/').at(-1) ?? '';
    key = await admin.createKey(accountId, { name: 'Widget', scopes: ['customers:read'] });
  });
  afterAll(async () => {
    await browser?.close();
    await demo?.stop();
  });

  const call = (method: string, path: string, secret = key.secret) =>
    send(`${demo.gatewayUrl}/api/v1/${path}`, { method, headers: { authorization: `Bearer ${secret}` } });
  const press = (name: string) => page.getByRole('main').getByRole('button', { name, exact: true }).click();

  it('pauses it and resumes it: calls get 403 key_paused, and then work again', async () => {
    expect((await call('GET', 'customers?limit=1')).status).toBe(200);
    await eventually('the call is recorded', async () => {
      const { last_day: lastDay } = await admin.call<{ last_day: { requests: number } }>(
        'GET',
        `/api-keys/${key.id}/impact`,
      );
      return lastDay.requests > 0;
    });
    await page.goto(`${home}/api-keys/${key.id}`);
    await press('Pause');
    const asked = page.getByRole('dialog', { name: 'Pause this key?' });
    await asked.getByText(/^listCustomers: \d+$/).waitFor();
    await asked.getByRole('button', { name: 'Pause key' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    const refused = await call('GET', 'customers?limit=1');
    expect([refused.status, refused.json()['code']]).toEqual([403, 'key_paused']);
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    expect((await call('GET', 'customers?limit=1')).status).toBe(200);
  });

  it('sees new requests without reloading, finds one by its ID, and sees why it was refused', async () => {
    await page.clock.install();
    await page.goto(`${home}/logs`);
    await page.getByRole('link', { name: /^GET/ }).first().waitFor();
    const before = await page.getByText('403').count();
    const refused = await call('DELETE', 'customers/cus_1');
    expect(refused.status).toBe(403);
    const asked = page.getByRole('link', { name: /^DELETE/ }).first();
    await passTimeUntil(page, 'the request is listed', () => asked.isVisible());
    expect(await page.getByText('403').count()).toBeGreaterThan(before);
    await page.getByLabel('Search by request or key ID').fill(String(refused.headers['x-request-id']));
    await page.getByRole('link', { name: /^GET/ }).first().waitFor({ state: 'hidden' });
    await page.getByRole('link', { name: /^DELETE/ }).click();
    await page.getByText('The API key lacks a scope').waitFor();
    await page.getByText('It would still be rejected now.').waitFor();
    await page.getByText('insufficient_scope').waitFor();
  });

  it('finds a key that is not listed by typing the first letters of its name', async () => {
    const fill = async (): Promise<void> => {
      for (let index = 0; index < 60; index++) await admin.createKey(accountId, { name: 'Filler', scopes: ['*'] });
    };
    await fill();
    await admin.createKey(accountId, { name: 'Rarely used', scopes: ['customers:read'] });
    await fill();
    for (const [path, label] of [
      ['explain', 'Key'],
      ['assistants', 'Key'],
    ] as const) {
      await page.goto(`${home}/${path}`);
      const field = page.getByRole('combobox', { name: label });
      await field.click();
      await page
        .getByRole('option', { name: /Filler/ })
        .first()
        .waitFor();
      expect(await page.getByRole('option', { name: /Rarely used/ }).count()).toBe(0);
      await field.fill('rarely');
      await page.getByRole('option', { name: /Rarely used/ }).click();
      expect(await field.inputValue()).toContain('Rarely used');
    }
    await page.getByText(/ of \d+ tools/).waitFor();
  });

  it('sees the result of each step for a hypothetical request', async () => {
    const verdicts = async (operation: RegExp): Promise<readonly (string | null)[]> => {
      await page.goto(`${home}/explain`);
      await page.getByRole('combobox', { name: 'Key' }).click();
      await page.getByRole('option', { name: /Widget/ }).click();
      await page.getByRole('combobox', { name: 'Operation' }).click();
      await page.getByRole('option', { name: operation }).click();
      await press('Explain');
      const steps = page.getByRole('status').getByRole('listitem');
      await steps.first().waitFor();
      return steps.evaluateAll((items) => items.map(({ textContent }) => textContent));
    };
    expect(await verdicts(/^GET \/api\/v1\/customers$/)).toEqual([
      'YesOperation exists',
      'YesKey is valid for this IP',
      'YesKey has permission',
      'YesWithin limits',
    ]);
    await page.getByText('Allowed', { exact: true }).waitFor();
    expect(await verdicts(/^DELETE/)).toEqual([
      'YesOperation exists',
      'YesKey is valid for this IP',
      'NoKey has permission · The API key lacks a scope',
      'YesWithin limits',
    ]);
  });

  it('sees that the old secret is still used, from where, and what a revocation would break', async () => {
    await page.goto(`${home}/api-keys/${key.id}`);
    await press('Rotate key');
    await page.getByRole('button', { name: 'Create new secret' }).click();
    await page.getByText('Copy your secret now').waitFor();
    await page.getByLabel("I've saved this secret").check();
    await page.getByRole('button', { name: 'Done' }).click();
    expect((await call('GET', 'customers?limit=1')).status).toBe(200);
    await eventually('the page shows the last use', async () => {
      await page.reload();
      await page.getByText('The previous secret works until').waitFor();
      return (await page.getByText(/Last used .* from 127\.0\.0\.1\./).count()) === 1;
    });
    await press('Revoke');
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/^listCustomers: \d+$/).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  });

  it('removes unused permissions of a key in one click', async () => {
    const wide = await admin.createKey(accountId, { name: 'Too much', scopes: ['customers:read', 'customers:write'] });
    expect((await call('GET', 'customers?limit=1', wide.secret)).status).toBe(200);
    // Keys younger than a week get no suggestion.
    await page.clock.setSystemTime(Date.now() + 8 * 86_400_000);
    await eventually('the use is counted', async () => {
      await page.goto(`${home}/api-keys/${wide.id}`);
      // Until then no scope is used, and a key keeps at least one, so the page offers nothing and does not poll.
      await hasRead(page);
      return (await page.getByText(/^Unused since .*: Change customers\. Remove permissions/).count()) === 1;
    });
    await press('Remove permissions');
    await page.getByText("Remove permissions this key doesn't need.").waitFor({ state: 'hidden' });
    expect((await admin.getKey(wide.id)).scopes).toEqual(['customers:read']);
    await page.clock.setSystemTime(Date.now());
  });

  it('sees the forecast of the month, and exports its usage as CSV', async () => {
    await page.goto(`${home}/usage`);
    await page.getByText(/^On track for about [\d,]+ requests this month, within your limit\.$/).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export CSV' }).click(),
    ]);
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split(/\r?\n/);
    expect(lines[0]).toContain('day');
    expect(lines.slice(1).some((line) => line.includes('listCustomers'))).toBe(true);
  });

  it('causes no browser errors or policy violations', () => {
    expect(browser.faults).toEqual([]);
  });
});
