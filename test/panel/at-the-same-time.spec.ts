/** Concurrent use: another tab, another administrator, another role, another account. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import type { Account, ApiKeyWithSecret } from '../support/admin.js';
import { hasRead, startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { startPanel, type RunningPanel } from '../support/panel.js';
import { newPerson, panelUrlOf, signInThere, typePassword, type Person } from '../support/panel-people.js';
import { eventually } from '../support/processes.js';

describeWithChromium('while others use the panel', () => {
  let panel: RunningPanel;
  let browser: Browser;
  let account: Account;
  let key: ApiKeyWithSecret;
  let ana: Person;
  let ben: Person;
  const contexts: BrowserContext[] = [];

  beforeAll(async () => {
    [panel, browser] = await Promise.all([startPanel(), startBrowser()]);
    account = await panel.admin.createAccount({ name: 'Isar Rafting', plan: 'starter' });
    ana = await newPerson(panel, account.id, 'owner', 'Ana');
    ben = await newPerson(panel, account.id, 'admin', 'Ben');
  });
  beforeEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    key = await panel.admin.createKey(account.id, { name: 'Shop', scopes: ['customers:read'] });
  });
  afterAll(async () => {
    await browser?.close();
    await panel?.close();
  });

  const at = (path: string, of = account.id) => `${panelUrlOf(panel)}/${of}/${path}`;
  const browserOf = async (person: Person): Promise<BrowserContext> => {
    const context = await browser.newContext();
    contexts.push(context);
    await signInThere(context, person, panelUrlOf(panel));
    return context;
  };
  const open = async (context: BrowserContext, path: string): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(at(path));
    await page.getByRole('heading', { level: 1 }).waitFor();
    return page;
  };
  const change = async (page: Page, name: string): Promise<void> => {
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill(name);
  };
  const save = (page: Page) => page.getByRole('button', { name: 'Save' }).click();

  it('signing out in a second tab clears the first, and signing in again restores it', async () => {
    const person = await newPerson(panel, account.id, 'admin');
    const context = await browserOf(person);
    const first = await open(context, 'api-keys');
    await first.getByRole('link', { name: 'Shop' }).first().waitFor();
    const second = await open(context, 'usage');
    await second.getByRole('button', { name: 'Account menu' }).click();
    await second.getByRole('button', { name: 'Sign out' }).click();
    for (const page of [first, second]) await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await first.content()).not.toContain('Shop');
    await second.getByLabel('Email').fill(person.email);
    await typePassword(second, person);
    await second.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
    await first.getByRole('link', { name: 'Shop' }).first().waitFor();
    // The page must have the token of the new session, which a change needs.
    await first.getByRole('link', { name: 'Shop' }).first().click();
    await first.getByRole('button', { name: 'Pause' }).click();
    await first.getByRole('button', { name: 'Pause key' }).click();
    await first.getByRole('button', { name: 'Resume' }).waitFor();
  });

  it('a session that was ended elsewhere asks for a new sign-in at the next request', async () => {
    const person = await newPerson(panel, account.id, 'admin');
    const context = await browserOf(person);
    const page = await open(context, 'api-keys');
    await hasRead(page);
    await person.session.call('POST', '/sign-out');
    // The page may have noticed already by polling. The dialog then covers the link.
    await page.getByRole('link', { name: 'Usage' }).dispatchEvent('click');
    await page.getByText('Your session expired.').waitFor();
    await typePassword(page, person);
    await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
    await page.getByText('No usage yet').waitFor();
  });

  it('signing in as someone else in a second tab removes all data of the former member from the first', async () => {
    const context = await browserOf(await newPerson(panel, account.id, 'admin'));
    const first = await open(context, 'api-keys');
    await first.getByRole('link', { name: 'Shop' }).first().waitFor();
    const other = await panel.admin.createAccount({ name: 'Enns Kayak', plan: 'starter' });
    const { link } = await panel.admin.call<{ link: string }>('POST', `/accounts/${other.id}/invitations`, {
      email: 'cleo@example.com',
      role: 'owner',
    });
    const second = await context.newPage();
    await second.goto(link);
    await second.getByRole('button', { name: 'Join as someone new' }).click();
    await second.getByLabel('Your name').fill('Cleo');
    await second.getByLabel('Password', { exact: true }).fill(ana.password);
    await second.getByRole('button', { name: 'Join', exact: true }).click();
    await second.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
    await first.getByText('Not found', { exact: true }).waitFor();
    expect(await first.content()).not.toMatch(/Shop|Isar Rafting/);
  });

  it('the second of two editors of a key sees what changed and who did it, and can keep both changes', async () => {
    const [mine, theirs] = [
      await open(await browserOf(ana), `api-keys/${key.id}`),
      await open(await browserOf(ben), `api-keys/${key.id}`),
    ];
    await change(mine, 'Shop in Graz');
    await theirs.getByRole('button', { name: 'Edit', exact: true }).click();
    await theirs.locator('input[type=checkbox][value="customers:write"]').check();
    await save(mine);
    await mine.getByRole('dialog').waitFor({ state: 'hidden' });
    await save(theirs);
    const notice = theirs.getByRole('dialog').getByRole('alert');
    await notice.waitFor();
    await notice.getByText('Shop in Graz').waitFor();
    const text = (await notice.textContent()) ?? '';
    expect(text).toContain('This was changed while you were editing');
    expect(text).toMatch(/Name.*Shop in Graz.*Ana/);
    // No field is marked, because the typed values are valid.
    expect(await theirs.locator('[aria-invalid=true]').count()).toBe(0);
    await theirs.getByRole('button', { name: 'Overwrite' }).click();
    expect(await theirs.getByLabel('Name', { exact: true }).inputValue()).toBe('Shop in Graz');
    await save(theirs);
    await theirs.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(await panel.admin.getKey(key.id)).toMatchObject({
      name: 'Shop in Graz',
      scopes: ['customers:read', 'customers:write'],
    });
  });

  it('the second of two editors of the same field chooses whose value stays', async () => {
    const [mine, theirs] = [
      await open(await browserOf(ana), `api-keys/${key.id}`),
      await open(await browserOf(ben), `api-keys/${key.id}`),
    ];
    await change(theirs, 'Shop of Ben');
    for (const [name, choice, kept] of [
      ['Shop of Ana', 'Overwrite', 'Shop of Ben'],
      ['Shop of Ana, again', 'Use latest', 'Shop of Ana, again'],
    ] as const) {
      await change(mine, name);
      await save(mine);
      await mine.getByRole('dialog').waitFor({ state: 'hidden' });
      await save(theirs);
      await theirs.getByRole('button', { name: choice }).click();
      expect(await theirs.getByLabel('Name', { exact: true }).inputValue()).toBe(kept);
      if (choice === 'Overwrite') await theirs.getByLabel('Name', { exact: true }).fill('Shop of Ben, again');
    }
  });

  it('rotating a key that someone else has just changed shows a notice, and can continue', async () => {
    const page = await open(await browserOf(ana), `api-keys/${key.id}`);
    await page.getByRole('button', { name: 'Rotate key' }).click();
    await panel.admin.updateKey(key.id, { name: 'Shop in Linz' });
    await page.getByRole('button', { name: 'Create new secret' }).click();
    await page.getByText('This was changed while you were editing').waitFor();
    await page.locator('h1', { hasText: 'Shop in Linz' }).waitFor();
    await page.getByRole('button', { name: 'Create new secret' }).click();
    await page.getByText('Copy your secret now').waitFor();
  });

  it('a viewer has no buttons for forbidden actions, and gets 403 for direct requests', async () => {
    const context = await browserOf(await newPerson(panel, account.id, 'viewer', 'Vera'));
    const page = await open(context, 'api-keys');
    await page.getByRole('link', { name: 'Shop' }).first().waitFor();
    const pages = await page.getByRole('navigation').getByRole('link').allTextContents();
    expect(pages).toEqual(['API keys', 'Usage', 'Webhooks', 'AI assistants', 'Explain', 'Members', 'Account']);
    expect(await page.getByRole('link', { name: 'Create API key' }).count()).toBe(0);
    const buttons: Record<string, string[]> = {};
    for (const path of ['api-keys/new', `api-keys/${key.id}`, 'webhooks/new', 'members', 'account', 'usage']) {
      await page.goto(at(path));
      await page.getByRole('heading', { level: 1 }).waitFor();
      await hasRead(page);
      const names = await page.getByRole('main').getByRole('button').allTextContents();
      buttons[path.replace(key.id, 'key')] = names.filter((name) => name !== '');
      expect(await page.getByRole('dialog').count()).toBe(0);
    }
    const none = { 'api-keys/new': [], 'api-keys/key': [], 'webhooks/new': [], members: [], account: [], usage: [] };
    expect(buttons).toEqual(none);
    for (const path of ['logs', 'audit-log']) {
      await page.goto(at(path));
      await page.getByText('Page not found').waitFor();
    }
    const answered = await page.evaluate<(readonly [string, number, string])[]>(`(async () => {
      const { csrf_token: token } = await (await fetch('/admin/v1/me')).json();
      const calls = ${JSON.stringify([
        ['POST', `/accounts/${account.id}/api-keys`, { name: 'Mine', scopes: ['*'] }],
        ['PATCH', `/api-keys/${key.id}`, { name: 'Mine' }],
        ['POST', `/api-keys/${key.id}/rotate`, { overlap_seconds: 0 }],
        ['POST', `/api-keys/${key.id}/pause`],
        ['DELETE', `/api-keys/${key.id}`],
        ['POST', `/accounts/${account.id}/invitations`, { email: 'x@example.com', role: 'owner' }],
        ['POST', `/accounts/${account.id}/webhook-endpoints`, { url: 'https://hooks.example.org/' }],
        ['GET', `/accounts/${account.id}/requests`],
        ['GET', `/audit-log?account_id=${account.id}`],
        ['PATCH', `/accounts/${account.id}`, { plan: 'unlimited' }],
      ])};
      return Promise.all(calls.map(async ([method, path, body]) => {
        const headers = { 'X-CSRF-Token': token, ...(body ? { 'Content-Type': 'application/json' } : {}) };
        const response = await fetch('/admin/v1' + path, { method, headers, body: body && JSON.stringify(body) });
        return [method + ' ' + path, response.status, (await response.json()).code];
      }));
    })()`);
    expect(answered).toHaveLength(10);
    for (const [call, status, code] of answered) expect([call, status, code]).toEqual([call, 403, 'forbidden']);
    expect(await panel.admin.getKey(key.id)).toMatchObject({ name: 'Shop', status: 'active' });
  });

  it('URLs with IDs of another account show "Not found"', async () => {
    const { account: others, key: foreign } = await panel.admin.newKey('starter', { name: 'Foreign key' });
    const page = await (await browserOf(ana)).newPage();
    const nobody = `acc_${'0'.repeat(25)}`;
    for (const address of [
      at('api-keys', others.id),
      at('api-keys', nobody),
      at(`api-keys/${foreign.id}`, others.id),
      at(`api-keys/${foreign.id}`),
      at(`api-keys/key_${'0'.repeat(25)}`),
      at('logs/req_nothing'),
    ]) {
      await page.goto(address);
      await page.getByText('Not found', { exact: true }).waitFor();
      expect(await page.content()).not.toContain('Foreign key');
    }
    await page.goto(at('..%2f..%2fadmin'));
    await page.getByText('Page not found').waitFor();
  });

  it('the URL of a key under the wrong account of a member opens it under the right one', async () => {
    const { account: other, key: elsewhere } = await panel.admin.newKey('starter', { name: 'Key elsewhere' });
    await panel.admin.updateAccount(other.id, { name: 'Mur Canoes' });
    const invited = await panel.admin.call<{ link: string }>('POST', `/accounts/${other.id}/invitations`, {
      email: ana.email,
      role: 'viewer',
    });
    await ana.session.call('POST', '/links/take', { token: new URL(invited.link).hash.slice(1) });
    const page = await (await browserOf(ana)).newPage();
    await page.goto(at(`api-keys/${elsewhere.id}`));
    await page.getByRole('heading', { name: 'Key elsewhere' }).waitFor();
    expect(page.url()).toContain(other.id);
    // The account switcher leads back to the other account.
    await page.getByRole('button', { name: /Switch account/ }).click();
    await page.getByRole('option', { name: 'Isar Rafting' }).click();
    await page.getByRole('button', { name: 'Account: Isar Rafting. Switch account' }).waitFor();
    await page.getByRole('link', { name: 'Shop' }).first().waitFor();
  });

  it('an invitation link can be opened repeatedly, and joins once', async () => {
    const owner = await open(await browserOf(ana), 'members');
    await owner.getByRole('button', { name: 'Invite member' }).click();
    await owner.getByLabel('Email').fill('dora@example.com');
    await owner.getByRole('button', { name: 'Invite', exact: true }).click();
    const link = (await owner.locator('.secret').textContent()) ?? '';
    expect(link).toMatch(/\/link#\S{20,}$/);
    await owner.getByRole('button', { name: 'Done' }).click();
    await owner.getByText('dora@example.com').waitFor();
    const context = await browser.newContext();
    contexts.push(context);
    const guest = await context.newPage();
    await guest.goto(link);
    await guest.getByRole('heading', { name: /^Join .*Isar Rafting/ }).waitFor();
    expect(guest.url()).not.toContain('#');
    // Opening the link does not use it up, because mail programs open links before people do.
    await guest.goto(link);
    await guest.reload();
    await guest.goto(link);
    await guest.getByLabel('Your name').fill('Dora');
    await guest.getByLabel('Password', { exact: true }).fill('short');
    await guest.getByRole('button', { name: 'Join', exact: true }).click();
    expect(await guest.getByRole('heading', { name: /^Join .*Isar Rafting/ }).count()).toBe(1);
    await guest.getByLabel('Password', { exact: true }).fill(ana.password);
    await guest.getByRole('button', { name: 'Join', exact: true }).click();
    await guest.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
    await guest.getByRole('link', { name: 'Shop' }).first().waitFor();
    expect(await guest.getByRole('link', { name: 'Create API key' }).count()).toBe(0);
    await owner.reload();
    await owner.getByText('dora@example.com ·').waitFor();
    await eventually('the owner sees who has joined', async () => (await owner.getByText('Dora').count()) > 0);
    const again = await context.newPage();
    await again.goto(link);
    await again.getByText('This link has expired or was already used').waitFor();
    expect(await again.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    await again.getByRole('link', { name: 'Continue to dashboard' }).click();
    await again.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
  });

  it('nothing caused browser errors or policy violations', () => {
    expect(browser.faults).toEqual([]);
  });
});
