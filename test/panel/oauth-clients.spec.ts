/**
 * An application asks a member for access in the panel, and the member authorizes or denies it. Authorized assistants
 * are listed beside the keys, and can be disconnected there. In a real browser.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Page } from 'playwright-core';
import { axeFindings, hasRead, scrollsSideways, startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { Browser as ClientsBrowser, newVerifier, REDIRECT } from '../support/oauth-steps.js';
import { OAuthWorld } from '../support/oauth-world.js';
import { newPerson, panelUrlOf, signInThere, type Person } from '../support/panel-people.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';

/** The part of a form field that the test reads. */
interface Labelled {
  readonly labels: readonly { readonly innerText: string }[];
}

const DAY_MS = 86_400_000;
const PHONE = { width: 360, height: 780 };
const DESK = { width: 1_280, height: 860 };

let world: OAuthWorld;
beforeAll(async () => {
  world = await OAuthWorld.start();
});
afterAll(() => world?.stop());

describeWithChromium('an authorization request', () => {
  let browser: Browser;
  let accountId: string;
  let clientId: string;

  beforeAll(async () => {
    accountId = await world.newAccount();
    clientId = String((await world.register({ client_name: 'Trip planner' })).body['client_id']);
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  /** Opens the authorization page. Returns it with the PKCE verifier of the client. */
  async function openRequest(role: 'admin' | 'viewer'): Promise<{ page: Page; verifier: string }> {
    const person = await newPerson(world.trailgate, accountId, role);
    await browser.context.clearCookies();
    await signInThere(browser.context, person, panelUrlOf(world.trailgate));
    const page = await browser.newPage();
    const { verifier, challenge } = newVerifier();
    await page.goto(world.authorizeUrl(clientId, challenge, { scope: 'customers:read customers:write' }).href);
    await page.getByRole('heading', { name: /Trip planner/ }).waitFor();
    return { page, verifier };
  }

  const sentOn = (page: Page) => page.waitForRequest((request) => request.url().startsWith(REDIRECT));

  it('lets an admin remove a scope and authorize the application, and the token works', async () => {
    const { page, verifier } = await openRequest('admin');
    await page.getByText("It isn't verified.").waitFor();
    await page.getByText('127.0.0.1:4711').waitFor();
    await page.getByRole('checkbox', { name: /customers:write|Write|write|Create|change/i }).uncheck();
    const back = sentOn(page);
    await page.getByRole('button', { name: 'Authorize' }).click();
    const { searchParams } = new URL((await back).url());
    expect(searchParams.get('state')).toBe('state');
    const form = world.exchange(clientId, searchParams.get('code') ?? '', verifier);
    const { status, body } = await world.token(form);
    expect([status, body.scope]).toEqual([200, 'customers:read']);
    expect((await world.listTools(body.access_token)).status).toBe(200);
    await page.close();
  });

  it('sends an error to the application if it is denied', async () => {
    const { page } = await openRequest('admin');
    const back = sentOn(page);
    await page.getByRole('button', { name: 'Deny' }).click();
    expect(new URL((await back).url()).searchParams.get('error')).toBe('access_denied');
    await page.close();
  });

  it('cannot be authorized by a viewer, who is told why', async () => {
    const { page } = await openRequest('viewer');
    await page.getByText("You can't create keys in any account").waitFor();
    expect(await page.getByRole('button', { name: 'Authorize' }).isDisabled()).toBe(true);
    await page.close();
  });
});

describeWithChromium('a member of an account', () => {
  let browser: Browser;
  let page: Page;
  let accountId: string;
  let ana: Person;

  beforeAll(async () => {
    browser = await startBrowser();
    accountId = await world.newAccount();
    ana = await newPerson(world.trailgate, accountId, 'owner', 'Ana Gruber');
    await signInThere(browser.context, ana, panelUrlOf(world.trailgate));
    page = await browser.newPage();
  });
  afterAll(async () => {
    await browser?.close();
  });

  const at = (path: string) => `${panelUrlOf(world.trailgate)}/${accountId}/${path}`;
  const section = (of: Page = page) => of.getByRole('region', { name: 'Connected with OAuth' });
  const row = (name: string) => section().getByRole('listitem').filter({ hasText: name });

  /** Authorizes a new client as Ana, and returns its tokens. */
  async function authorize(name: string) {
    const clientId = String((await world.register({ client_name: name })).body['client_id']);
    const { verifier, challenge } = newVerifier();
    const theirs = new ClientsBrowser();
    const id = String(await world.ask(theirs, world.authorizeUrl(clientId, challenge)));
    const { redirect_url: back } = await ana.session.call<{ redirect_url: string }>(
      'POST',
      `/authorization-requests/${id}/approval`,
      {
        account_id: accountId,
        scopes: ['customers:read'],
        expires_at: new Date(Date.now() + 30 * DAY_MS).toISOString(),
      },
    );
    const params = await world.comeBack(theirs, back);
    const code = params instanceof URLSearchParams ? params.get('code') : null;
    const { body } = await world.token(world.exchange(clientId, code ?? '', verifier));
    return { ...body, clientId };
  }

  /** Gives a key a client ID that is a document URL. Real documents are fetched from public addresses only. */
  function hasDocument(name: string, clientId: string): void {
    const database = new DatabaseSync(join(world.trailgate.dataDir, 'trailgate.db'), { timeout: 30_000 });
    const { changes } = database.prepare('update api_key set oauth_client_id = ? where name = ?').run(clientId, name);
    database.close();
    expect(changes).toBe(1);
  }

  it('sees the MCP URL for assistants, and that none is connected', async () => {
    await page.goto(at('assistants'));
    await section().getByText(world.mcpUrl).waitFor();
    await section().getByText('No assistants connected.').waitFor();
    expect(await section().getByRole('button', { name: 'Revoke' }).count()).toBe(0);
  });

  it('sees for each connected assistant its permissions, member, dates and last use', async () => {
    const { access_token: token } = await authorize('Trip planner');
    await authorize('Claude');
    hasDocument('Claude', 'https://claude.ai/oauth/mcp-oauth-client-metadata');
    await page.goto(at('assistants'));
    await row('Trip planner').getByText("This name isn't verified.").waitFor();
    const claude = row('claude.ai');
    await claude.getByText('claude.ai', { exact: true }).waitFor();
    await claude.getByText(/^by Ana Gruber, \d/).waitFor();
    await claude.getByText('Read customers').waitFor();
    await claude.getByText(/Not used yet · until \d/).waitFor();
    expect((await world.send(token, 'tools/call', { name: 'list_customers', arguments: {} })).status).toBe(200);
    await eventually('the use is recorded', async () =>
      (await world.trailgate.admin.listKeys(accountId)).data.some(({ last_used_at: at }) => at !== null),
    );
    await page.reload();
    await row('Trip planner').getByText('Last used:').waitFor();
  });

  it('sees what ends and what keeps working before removing the member who connected assistants', async () => {
    const key = { name: 'Booking widget', scopes: ['customers:read'] };
    await ana.session.call('POST', `/accounts/${accountId}/api-keys`, key);
    await page.goto(at('members'));
    await page.getByRole('button', { name: 'Remove Ana Gruber' }).click();
    const dialog = page.getByRole('dialog');
    const lines = dialog.getByRole('listitem');
    await lines.getByText('AI assistant: Trip planner').waitFor();
    await dialog.getByText('These stop working:').waitFor();
    expect(await lines.allTextContents()).toEqual([
      'AI assistant: Trip planner',
      'AI assistant: Claude',
      'API key: Booking widget',
    ]);
    await dialog.getByText('They created these, which keep working:').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  });

  it('sees an assistant among the keys and on its own page, without a way to rotate it', async () => {
    await page.goto(at('api-keys'));
    await page.getByText('Connected with OAuth: claude.ai').waitFor();
    expect(await page.getByText('tg_mcpt_').count()).toBe(0);
    await page.getByRole('link', { name: 'Claude' }).click();
    await page.getByText(/, by Ana Gruber$/).waitFor();
    await page.getByText('claude.ai', { exact: true }).waitFor();
    await page.getByText('The app calls itself Claude.').waitFor();
    const actions = page.getByRole('main').getByRole('button');
    await actions.filter({ hasText: 'Pause' }).waitFor();
    expect(await actions.filter({ hasText: 'Rotate key' }).count()).toBe(0);
    await page.goto(at('api-keys'));
    await page.getByRole('link', { name: 'Trip planner' }).click();
    await page.getByText("The app chose this name. It isn't verified.").waitFor();
  });

  it('cannot choose an end or scopes beyond the authorization, but can choose the latest end', async () => {
    await page.getByRole('main').getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit API key' });
    await dialog.getByText(/^No later than \d.*connect the assistant again\.$/).waitFor();
    const labels = (role: 'radio' | 'checkbox') =>
      dialog
        .getByRole(role)
        .evaluateAll((inputs: readonly unknown[]) =>
          (inputs as readonly Labelled[]).map(({ labels: [label] }) => label?.innerText),
        );
    // Authorized for 30 days of at most 90. The end of the 90th day from now would be some hours too late.
    expect(await labels('radio')).toEqual([expect.stringMatching(/^\d.*\d$/), '30 days', 'Custom date']);
    expect(await labels('checkbox')).toEqual(['Read customers']);
    await dialog.getByLabel('Custom date').check();
    const last = (await dialog.getByLabel('Last day').getAttribute('max')) ?? '';
    const [key] = (await world.trailgate.admin.listKeys(accountId)).data.filter(({ name }) => name === 'Trip planner');
    const endOf = (day: string) => `${day}T23:59:59Z`;
    const dayAfter = new Date(Date.parse(`${last}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10);
    const path = `/api-keys/${key?.id}`;
    const later = await world.trailgate.admin.request('PATCH', path, { expires_at: endOf(dayAfter) });
    expectProblem(later, 'validation_failed');
    await dialog.getByLabel('Last day').fill(last);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'hidden' });
    const { expires_at: end } = await world.trailgate.admin.call<{ expires_at: string }>('GET', path);
    expect(Date.parse(end)).toBe(Date.parse(endOf(last)));
  });

  it('is warned that revoking the key disconnects the assistant', async () => {
    await page.getByRole('main').getByRole('button', { name: 'Revoke' }).click();
    const dialog = page.getByRole('dialog', { name: 'Disconnect this assistant?' });
    await dialog.getByText(/^Trip planner was connected with OAuth.*It loses access within a second/).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  });

  it('has accessible pages in both languages, on a phone too', async () => {
    const keyPage = page.url();
    for (const [scheme, locale, viewport] of [
      ['light', 'en', DESK],
      ['dark', 'es', PHONE],
    ] as const) {
      await page.evaluate(
        `Object.assign(localStorage, { 'trailgate-color-scheme': '${scheme}', 'trailgate-locale': '${locale}' })`,
      );
      await page.setViewportSize(viewport);
      for (const path of [at('assistants'), at('api-keys'), keyPage]) {
        await page.goto(path);
        await page
          .getByText(locale === 'en' ? /Connected with OAuth/ : /Conectado con OAuth/)
          .first()
          .waitFor();
        await hasRead(page);
        expect({ path, found: await axeFindings(page) }).toEqual({ path, found: [] });
        expect({ path, isTooWide: await scrollsSideways(page) }).toEqual({ path, isTooWide: false });
        const english = await page.getByText(/Connected with|Not used yet|calls itself|isn't verified|, by /).count();
        expect({ path, isEnglish: english > 0 }).toEqual({ path, isEnglish: locale === 'en' });
      }
    }
    await page.evaluate(`Object.assign(localStorage, { 'trailgate-locale': 'en' })`);
    await page.setViewportSize(DESK);
  });

  it('can pause and resume an assistant without connecting it again', async () => {
    const { access_token: before, refresh_token: refreshToken, clientId } = await authorize('Sleeper');
    await page.goto(at('api-keys'));
    await page.getByRole('link', { name: 'Sleeper' }).click();
    const press = (name: string) => page.getByRole('main').getByRole('button', { name }).click();
    const words = page.getByText(
      "This connection is paused. Calls are rejected until you resume it. You don't need to connect it again.",
    );
    await press('Pause');
    await page.getByRole('button', { name: 'Pause key' }).click();
    await words.waitFor();
    await eventually('the access token is refused', async () => (await world.listTools(before)).status === 403, 5_000);
    // The client refreshes its token by itself, without a user.
    const renewed = await world.token(world.refresh(clientId, refreshToken));
    expect(renewed.status).toBe(200);
    expect((await world.listTools(renewed.body.access_token)).status).toBe(403);
    await press('Resume');
    await words.waitFor({ state: 'hidden' });
    await eventually(
      'both access tokens work again',
      async () => {
        const responses = await Promise.all([before, renewed.body.access_token].map((token) => world.listTools(token)));
        return responses.every(({ status }) => status === 200);
      },
      5_000,
    );
  });

  it('disconnects one assistant, which is refused within five seconds, and the other stays', async () => {
    const { access_token: token } = await authorize('Visitor');
    expect((await world.listTools(token)).status).toBe(200);
    await page.goto(at('assistants'));
    await section().getByRole('button', { name: 'Revoke Visitor' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect((await world.listTools(token)).status).toBe(200);
    await section().getByRole('button', { name: 'Revoke Visitor' }).click();
    await dialog.getByRole('button', { name: 'Revoke', exact: true }).click();
    await row('Visitor').waitFor({ state: 'detached' });
    await eventually('the access token is refused', async () => (await world.listTools(token)).status === 401, 5_000);
    await row('Trip planner').waitFor();
    expect(browser.faults).toEqual([]);
  });

  it('who is a viewer sees the list, but cannot disconnect assistants', async () => {
    const context = await browser.newContext();
    await signInThere(context, await newPerson(world.trailgate, accountId, 'viewer'), panelUrlOf(world.trailgate));
    const theirs = await context.newPage();
    await theirs.goto(at('assistants'));
    await section(theirs).getByText('claude.ai', { exact: true }).waitFor();
    expect(
      await section(theirs)
        .getByRole('button', { name: /^Revoke/ })
        .count(),
    ).toBe(0);
    await context.close();
  });
});
