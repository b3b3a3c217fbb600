/** A person who is sent to the panel by an application lets it in, or turns it away: in a real browser. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { newVerifier, REDIRECT } from '../support/oauth-steps.js';
import { OAuthWorld } from '../support/oauth-world.js';
import { newPerson, panelUrlOf, signInThere } from '../support/panel-people.js';

describeWithChromium('where an application asks to be let in', () => {
  let world: OAuthWorld;
  let browser: Browser;
  let accountId: string;
  let clientId: string;

  beforeAll(async () => {
    world = await OAuthWorld.start();
    accountId = await world.newAccount();
    clientId = String((await world.register({ client_name: 'Trip planner' })).body['client_id']);
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await world?.stop();
  });

  /** The page on which somebody is asked, and what the client needs for its token. */
  async function asked(role: 'admin' | 'viewer'): Promise<{ page: Page; verifier: string }> {
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

  it('an admin leaves a scope out, lets it in, and it works', async () => {
    const { page, verifier } = await asked('admin');
    await page.getByText('anybody can take that name').waitFor();
    await page.getByText('127.0.0.1:4711').waitFor();
    await page.getByRole('checkbox', { name: /customers:write|Write|write|Create|change/i }).uncheck();
    const back = sentOn(page);
    await page.getByRole('button', { name: 'Let it in' }).click();
    const { searchParams } = new URL((await back).url());
    expect(searchParams.get('state')).toBe('state');
    const form = world.exchange(clientId, searchParams.get('code') ?? '', verifier);
    const { status, body } = await world.token(form);
    expect([status, body.scope]).toEqual([200, 'customers:read']);
    expect((await world.listTools(body.access_token)).status).toBe(200);
    await page.close();
  }, 120_000);

  it('who turns it away sends it an error', async () => {
    const { page } = await asked('admin');
    const back = sentOn(page);
    await page.getByRole('button', { name: 'Turn away' }).click();
    expect(new URL((await back).url()).searchParams.get('error')).toBe('access_denied');
    await page.close();
  }, 120_000);

  it('a viewer is told who may', async () => {
    const { page } = await asked('viewer');
    await page.getByText('You may make keys in no account').waitFor();
    expect(await page.getByRole('button', { name: 'Let it in' }).isDisabled()).toBe(true);
    await page.close();
  }, 120_000);
});
