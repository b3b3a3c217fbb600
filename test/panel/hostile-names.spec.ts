/** Names are untrusted input. They must not run as scripts, break the page, or reverse adjacent text. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { json, startBackend, type Backend } from '../support/backend.js';
import { goWithin, hasRead, startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { newPerson, panelUrlOf, signInThere } from '../support/panel-people.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const SCRIPT = `"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>{{7*7}}\${7*7}`;
const LONG = 'Wildwasserkajakverleih'.repeat(9);
/** A right-to-left name. It ends with a bracket and digits, which take the direction of adjacent text. */
const TURNED = 'שיט בירדן (12)';
const PAGES = ['api-keys', 'usage', 'logs', 'explain', 'audit-log', 'members', 'account'];
const DESK = { width: 1_280, height: 860 };
const PHONE = { width: 390, height: 844 };
/** Pages that have other elements on a phone than on a desktop. */
const ON_PHONES = ['api-keys', 'logs', 'audit-log', 'members'];

/** Script that finds texts with the name that are not isolated in their own element. */
const NOT_ALONE = `((name) => {
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    if (!text.data.includes(name) || text.data.includes('\\u2068' + name + '\\u2069')) continue;
    let element = text.parentElement;
    while (!/isolate|plaintext/.test(getComputedStyle(element).unicodeBidi)) element = element.parentElement;
    if (element.textContent !== name) found.push(element.textContent.slice(0, 200));
  }
  return found;
})`;

type Look = (where: string) => Promise<void>;

describeWithChromium('names', () => {
  let backend: Backend;
  let trailgate: SharedTrailgate;
  let browser: Browser;
  let page: Page;
  const home = new Map<string, string>();
  const keys = new Map<string, string>();

  beforeAll(async () => {
    backend = await startBackend(json({ data: [] }));
    [trailgate, browser] = await Promise.all([acquireTrailgate({ backend: backend.url }), startBrowser()]);
    const { admin } = trailgate;
    for (const name of [SCRIPT, LONG, TURNED]) {
      const account = await admin.createAccount({ name, plan: 'starter' });
      home.set(name, `${panelUrlOf(trailgate)}/${account.id}`);
      const key = await admin.createKey(account.id, { name, scopes: ['customers:read'] });
      keys.set(name, key.id);
      const headers = { Authorization: `Bearer ${key.secret}` };
      await send(`${trailgate.gatewayUrl}/api/v1/customers`, { headers });
      await admin.adjustQuota(account.id, { window: 'month', type: 'grant', amount: 5, reason: name });
      const person = await newPerson(trailgate, account.id, 'owner', name);
      await person.session.call('PATCH', `/api-keys/${key.id}`, { scopes: ['customers:read', 'customers:write'] });
      await person.session.call('POST', `/accounts/${account.id}/invitations`, {
        email: 'x@example.com',
        role: 'viewer',
      });
    }
    page = await browser.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await trailgate?.stop();
    await backend?.stop();
  });

  const keyPage = (name: string): string => `api-keys/${keys.get(name)}`;
  const signIn = async (name: string): Promise<void> => {
    await browser.context.clearCookies();
    const accountId = new URL(home.get(name) ?? '').pathname.slice(1);
    await signInThere(browser.context, await newPerson(trailgate, accountId, 'owner', name), panelUrlOf(trailgate));
  };
  /** Visits every page of the account and its dialogs, and calls `look` for each. Repeats `onPhones` at phone size. */
  const visit = async (name: string, look: Look, onPhones: readonly string[] = []): Promise<void> => {
    await page.goto(home.get(name) ?? '');
    for (const path of [...PAGES, keyPage(name)]) {
      await goWithin(page, `${home.get(name)}/${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await hasRead(page);
      await look(path);
      if (!onPhones.includes(path)) continue;
      await page.setViewportSize(PHONE);
      await hasRead(page);
      await look(`${path}, on a phone`);
      await page.setViewportSize(DESK);
    }
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').waitFor();
    await look('the dialog that revokes');
    await goWithin(page, `${home.get(name)}/members`);
    await page.getByRole('button', { name: 'Remove' }).last().click();
    await page.getByRole('dialog').waitFor();
    await look('the dialog that removes');
    await goWithin(page, `${home.get(name)}/explain`);
    await page.getByRole('combobox', { name: 'Key' }).click();
    await page.getByRole('option').first().waitFor();
    await look('the choice of a key');
  };

  it('that are scripts are shown as text and do not run', async () => {
    await signIn(SCRIPT);
    await visit(SCRIPT, async () => {
      expect(await page.evaluate('window.hacked')).toBeUndefined();
      expect(await page.locator('img[src="x"]').count()).toBe(0);
    });
    await page.goto(`${home.get(SCRIPT)}/api-keys`);
    await page.getByRole('link', { name: SCRIPT }).waitFor();
  });

  it('that are long do not break any page, at desktop and phone width', async () => {
    await signIn(LONG);
    const look = async (where: string): Promise<void> => {
      const [content, room] = await page.evaluate<[number, number]>(
        '[document.documentElement.scrollWidth, innerWidth]',
      );
      expect({ where, room, scrollsSideways: content > room }).toEqual({ where, room, scrollsSideways: false });
    };
    await visit(LONG, look, [...PAGES, keyPage(LONG)]);
  });

  it('that run from right to left are isolated and do not affect adjacent text', async () => {
    await signIn(TURNED);
    let seen = 0;
    const look = async (where: string): Promise<void> => {
      const found = await page.evaluate<string[]>(`${NOT_ALONE}(${JSON.stringify(TURNED)})`);
      expect({ where, found }).toEqual({ where, found: [] });
      seen += (await page.content()).includes(TURNED) ? 1 : 0;
    };
    await visit(TURNED, look, ON_PHONES);
    expect(seen).toBeGreaterThan(12);
  });

  it('with characters that reverse the following text are refused at the field', async () => {
    await page.goto(`${home.get(TURNED)}/api-keys/new`);
    await page.getByLabel('Name', { exact: true }).fill('Accounting\u202Etropxe');
    await page.locator('input[type=checkbox][value="customers:read"]').check();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('Check the highlighted fields.').waitFor();
    expect(await page.getByText('characters that change the direction of text').count()).toBe(1);
  });

  it('cause no browser errors or policy violations', () => {
    expect(browser.faults).toEqual([]);
  });
});
