/** Joining and confirming with a real identity provider, in a real browser. Typed text stays and is submitted. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { IdentityProvider } from '../support/identity-provider.js';
import { builtPanel } from '../support/panel.js';
import { ProviderWorld } from '../support/provider-world.js';

const MINUTE_MS = 60_000;

describeWithChromium('in a browser', () => {
  describe('a member with only an identity provider', () => {
    let idp: IdentityProvider;
    let world: ProviderWorld;
    let browser: Browser;
    let page: Page;

    beforeAll(async () => {
      idp = await IdentityProvider.start();
      world = await ProviderWorld.start(idp, 'sqlite', builtPanel());
      browser = await startBrowser();
      page = await browser.newPage();
    });
    afterAll(async () => {
      await browser?.close();
      await world?.close();
      await idp?.stop();
    });

    const origin = () => `http://localhost:${world.running.port}`;
    /** Fills in and submits the provider's own sign-in page. */
    async function signInAt(own: Page, sub: string): Promise<void> {
      await own.locator('input[name=login]').fill(sub);
      await own.locator('input[name=password]').fill('any');
      await own.locator('button[type=submit]').click();
    }

    it('joins by an invitation, and confirms in a window while the typed text stays', async () => {
      const token = await world.invitationFor('zoe@example.com', 'owner');
      await page.goto(`${origin()}/link#${token}`);
      await page.getByRole('button', { name: 'Join with Company' }).click();
      await signInAt(page, 'zoe');
      // The provider asks for consent once.
      await page.locator('input[name=prompt][value=consent]').waitFor({ state: 'attached' });
      await page.locator('button[type=submit]').click();
      await page.waitForURL(`${origin()}/${world.accountId}/**`);

      const confirmedAt = world.running.clock.now() - 11 * MINUTE_MS;
      await world.database.db.updateTable('member_session').set({ confirmed_at: confirmedAt }).execute();
      await page.goto(`${origin()}/${world.accountId}/api-keys/new?name=Widget&scopes=customers:read`);
      await page.getByRole('button', { name: 'Create key' }).click();
      const dialog = page.getByRole('dialog', { name: "Confirm it's you" });
      const opening = browser.context.waitForEvent('page');
      await dialog.getByRole('button', { name: 'Sign in again with Company' }).click();
      const beside = await opening;
      await signInAt(beside, 'zoe');
      await beside.getByRole('heading', { name: 'Confirmed', exact: true }).waitFor();
      await page.getByText('tg_live_').first().waitFor();
      expect(await world.running.admin.listKeys(world.accountId)).toMatchObject({ data: [{ name: 'Widget' }] });
    });

    it('signs in again in a window after the session has ended, while the typed text stays', async () => {
      await page.goto(`${origin()}/${world.accountId}/api-keys/new?scopes=customers:read`);
      await page.getByLabel('Name', { exact: true }).fill('Typed before the end');
      await world.database.db.deleteFrom('member_session').execute();
      await page.getByRole('button', { name: 'Create key' }).click();
      const dialog = page.getByRole('dialog', { name: 'Sign in again' });
      const opening = browser.context.waitForEvent('page');
      await dialog.getByRole('button', { name: 'Sign in with Company' }).click();
      const beside = await opening;
      await beside.getByRole('heading', { name: 'Confirmed', exact: true }).waitFor();
      await page.getByText('Copy your secret now').waitFor();
      const { data } = await world.running.admin.listKeys(world.accountId);
      expect(data.map(({ name }) => name)).toEqual(expect.arrayContaining(['Typed before the end', 'Widget']));
    });
  });
});
