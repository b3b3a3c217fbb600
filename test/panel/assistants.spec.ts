/** An integrator connects an AI assistant in a real browser, with the built program and the snippets of the page. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { Account } from '../support/admin.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { axeFindings, hasRead, passTimeUntil, startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { newPerson, panelUrlOf, signInThere } from '../support/panel-people.js';
import { freePort } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { acquireTrailgate } from '../support/shared-program.js';

const tool = (description: string) => ({ mcp: { description, destructive: false } });
const CONFIG = {
  api: { title: 'Tourism API' },
  operations: [
    { match: 'GET /customers', ...tool('Lists the customers of the account, newest first.') },
    { match: 'POST /customers', ...tool('Makes a customer of a name and an address.') },
  ],
};
const SECRET = /tg_live_\w{36}/;
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1_280, height: 860 };

interface Result {
  readonly result: { readonly tools: readonly { readonly name: string }[]; readonly isError?: boolean };
}

describeWithChromium('the AI assistants page', () => {
  let backend: Backend;
  let trailgate: RunningTrailgate;
  let browser: Browser;
  let account: Account;
  let page: Page;
  let url = '';
  let secret = '';

  beforeAll(async () => {
    backend = await startBackend(json({ data: [] }));
    [trailgate, browser] = await Promise.all([
      // The page shows the URL of the API, so the port must be known in advance.
      startTrailgate({ backend: backend.url, config: { ...CONFIG, gateway: { port: await freePort() } } }),
      startBrowser(),
    ]);
    account = await trailgate.admin.createAccount({ name: 'Isar Rafting' });
    await signInThere(browser.context, await newPerson(trailgate, account.id, 'owner'), panelUrlOf(trailgate));
    page = await browser.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await trailgate?.stop();
    await backend?.stop();
  });

  const at = (path: string) => `${panelUrlOf(trailgate)}/${account.id}/${path}`;
  const dialog = () => page.getByRole('dialog');
  const section = (name: string) => page.getByRole('region', { name });
  const choose = async (within: ReturnType<typeof section>, label: string, option: string): Promise<void> => {
    await within.getByRole('combobox', { name: label }).click();
    await page.getByRole('option', { name: option }).click();
  };
  const call = async (method: string, params: object): Promise<Result['result']> => {
    const response = await send(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': '2025-06-18',
      },
      body: { jsonrpc: '2.0', id: 1, method, params },
    });
    return response.json<Result>().result;
  };

  it('is under Settings and Developers, and shows a snippet for each assistant', async () => {
    await page.clock.install();
    await page.goto(at('api-keys'));
    const developers = page.getByRole('group', { name: 'Settings' }).getByRole('group', { name: 'Developers' });
    await developers.getByRole('link', { name: 'AI assistants' }).click();
    const connect = section('Connect');
    await connect.getByText('claude mcp add --transport http tourism-api').waitFor();
    for (const [name, text] of [
      ['Claude Desktop', 'mcp-remote'],
      ['claude.ai', 'Bearer YOUR_API_KEY'],
      ['ChatGPT', 'server_url'],
      ['Cursor', '"mcpServers"'],
      ['VS Code', '"promptString"'],
      ['Other (JSON)', '"type": "http"'],
      ['Codex', 'http_headers = { Authorization = "Bearer YOUR_API_KEY" }'],
    ] as const) {
      await choose(connect, 'Assistant', name);
      await connect.locator('pre', { hasText: text }).waitFor();
    }
  });

  it('lists all tools with their effects', async () => {
    const tools = section('Available tools');
    await tools.getByText('2 of 2 tools').waitFor();
    await tools
      .getByRole('listitem')
      .filter({ hasText: 'list_customers' })
      .getByText('Read', { exact: true })
      .waitFor();
    await tools
      .getByRole('listitem')
      .filter({ hasText: 'Makes a customer' })
      .getByText('Create', { exact: true })
      .waitFor();
    await section('Recent calls').getByText('No calls yet.').waitFor();
    // Without an authorization server no client can be authorized.
    expect(await section('Connected with OAuth').count()).toBe(0);
  });

  it('creates a read-only key for 30 days, and puts its secret into the snippet', async () => {
    await page.getByRole('link', { name: 'Create assistant key' }).click();
    expect(await dialog().getByRole('checkbox', { name: 'Read customers' }).isChecked()).toBe(true);
    expect(await dialog().getByRole('checkbox', { name: 'Change customers' }).isChecked()).toBe(false);
    expect(await dialog().getByLabel('30 days').isChecked()).toBe(true);
    await dialog().getByLabel('Name').fill('Codex of Ana');
    await dialog().getByRole('button', { name: 'Create key' }).click();
    await dialog().getByText('Copy your secret now').waitFor();
    const text = (await dialog().locator('pre').textContent()) ?? '';
    expect(text).toContain('http_headers');
    secret = SECRET.exec(text)?.[0] ?? '';
    url = /url = "([^"]+)"/.exec(text)?.[1] ?? '';
    // For an assistant that prompts for the key, the page shows it separately.
    await choose(dialog(), 'Assistant', 'VS Code');
    await dialog()
      .locator('pre', { hasText: /^tg_live_/ })
      .waitFor();
    expect(await dialog().locator('pre', { hasText: 'promptString' }).textContent()).not.toContain(secret);
    await page.getByLabel("I've saved this secret").check();
    await dialog().getByRole('button', { name: 'Done' }).click();
    await dialog().waitFor({ state: 'hidden' });
    expect(await page.content()).not.toContain(secret);
    const { data } = await trailgate.admin.call<{ data: { name: string; scopes: string[] }[] }>(
      'GET',
      `/accounts/${account.id}/api-keys`,
    );
    expect(data).toMatchObject([{ name: 'Codex of Ana', scopes: ['customers:read'] }]);
  });

  it('lists only the tools of that key, as the server does', async () => {
    const tools = section('Available tools');
    await tools.getByText('1 of 2 tools').waitFor();
    const { tools: listed } = await call('tools/list', {});
    expect(listed.map(({ name }) => name)).toEqual(['get_usage', 'list_customers']);
    expect(await tools.getByRole('listitem').count()).toBe(1);
  });

  it('shows the calls made with that key', async () => {
    expect((await call('tools/call', { name: 'list_customers', arguments: {} })).isError ?? false).toBe(false);
    const calls = section('Recent calls');
    const made = calls.getByRole('listitem').filter({ hasText: 'Codex of Ana' }).getByText('200');
    await passTimeUntil(page, 'the call is listed', () => made.isVisible());
    await calls.getByRole('link', { name: 'list_customers' }).click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(page.url()).toContain('/logs/');
  });

  it('is accessible in both languages and color schemes, and causes no errors', async () => {
    const looks = [
      ['light', 'en', DESK],
      ['dark', 'es', PHONE],
    ] as const;
    for (const [scheme, locale, viewport] of looks) {
      await page.evaluate(
        `Object.assign(localStorage, { 'trailgate-color-scheme': '${scheme}', 'trailgate-locale': '${locale}' })`,
      );
      await page.setViewportSize(viewport);
      for (const path of ['assistants', 'assistants/new']) {
        await page.goto(at(path));
        await page.getByRole('heading', { level: 1 }).waitFor();
        await hasRead(page);
        expect({ path, found: await axeFindings(page) }).toEqual({ path, found: [] });
        const [content, room] = await page.evaluate<[number, number]>(
          '[document.documentElement.scrollWidth, innerWidth]',
        );
        expect({ path, scrollsSideways: content > room }).toEqual({ path, scrollsSideways: false });
      }
    }
    await page.getByRole('heading', { name: 'Crear clave para asistente' }).waitFor();
    expect(browser.faults).toEqual([]);
  });

  it('shows a viewer how to connect, but neither calls nor a way to create a key', async () => {
    const context = await browser.newContext();
    await signInThere(context, await newPerson(trailgate, account.id, 'viewer'), panelUrlOf(trailgate));
    const theirs = await context.newPage();
    await theirs.goto(at('assistants'));
    await theirs.getByText('2 of 2 tools').waitFor();
    expect(await theirs.getByText('Recent calls').count()).toBe(0);
    expect(await theirs.getByText('Create assistant key').count()).toBe(0);
    await context.close();
  });
});

describeWithChromium('the AI assistants page without tools', () => {
  it('says so, and offers no key', async () => {
    const [trailgate, browser] = await Promise.all([acquireTrailgate(), startBrowser()]);
    try {
      const { id } = await trailgate.admin.createAccount({ name: 'Isar Rafting' });
      await signInThere(browser.context, await newPerson(trailgate, id, 'owner'), panelUrlOf(trailgate));
      const page = await browser.newPage();
      await page.goto(`${panelUrlOf(trailgate)}/${id}/assistants`);
      await page.getByText('No tools for assistants yet').waitFor();
      expect(await page.getByText('Create assistant key').count()).toBe(0);
    } finally {
      await browser.close();
      await trailgate.stop();
    }
  });
});
