/** If the panel loses its database, members stay signed in, typed text stays, and nothing is done twice. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { openDatabase, type DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { passTimeUntil, startBrowser, type Browser } from '../support/browser.js';
import { answersNow } from '../support/database.js';
import { describeWithChromium, describeWithOwnPostgres } from '../support/describe-with.js';
import { builtPanel } from '../support/panel.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { GOOD_PASSWORD, memberWithPassword } from '../support/signed-in.js';

describeWithChromium('the panel', () => {
  describeWithOwnPostgres('without its database', () => {
    let server: PostgresServer;
    let database: DatabaseHandle;
    let running: RunningAdmin;
    let browser: Browser;
    let page: Page;
    let email: string;
    let accountId: string;

    beforeAll(async () => {
      server = await startPostgres();
      database = await openDatabase({ databaseUrl: await server.createDatabase('panel'), dataDir: '' });
      running = await startAdmin(database, { panel: builtPanel() });
      accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
      ({ email } = await memberWithPassword(database, running, { roles: { [accountId]: 'owner' } }));
      browser = await startBrowser();
      page = await browser.newPage();
    });
    afterAll(async () => {
      await browser?.close();
      await running?.close();
      await database?.close();
      await server?.stop();
    });

    const killDatabase = async (): Promise<void> => {
      await server.kill9();
      await eventually('the database is gone', async () => !(await answersNow(database)));
    };
    const restartDatabase = async (): Promise<void> => {
      await server.restart();
      await eventually('the database is back', async () => answersNow(database));
    };
    const isBusy = () => page.getByText('The server is busy').first().isVisible();
    const busy = () => page.getByText('The server is busy').first().waitFor();
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

    it('shows at sign-in that the server is busy, keeps the email, and signs in after recovery', async () => {
      await page.goto(`http://localhost:${running.port}/`);
      await page.getByLabel('Email').fill(email);
      await page.getByLabel('Password', { exact: true }).fill(GOOD_PASSWORD);
      await killDatabase();
      await press('Sign in');
      await busy();
      expect(await page.getByText('Incorrect sign-in details').count()).toBe(0);
      expect(await page.getByLabel('Email').inputValue()).toBe(email);
      await restartDatabase();
      await page.getByLabel('Password', { exact: true }).fill(GOOD_PASSWORD);
      await press('Sign in');
      await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
    });

    it('keeps typed text and the session, and creates the key once after recovery', async () => {
      await page.goto(`http://localhost:${running.port}/${accountId}/api-keys/new`);
      await page.getByLabel('Name', { exact: true }).fill('Typed before');
      await page.locator('input[type=checkbox][value="customers:read"]').check();
      await killDatabase();
      await press('Create key');
      await busy();
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Typed before');
      await press('Create key');
      await busy();
      await restartDatabase();
      await press('Create key');
      await page.getByText('Copy your secret now').waitFor();
      const { data } = await running.admin.listKeys(accountId);
      expect(data.map(({ name }) => name)).toEqual(['Typed before']);
      await page.getByLabel("I've saved this secret").check();
      await press('Done');
    });

    it('reports it on a page that is opened, and shows the page after recovery without a new sign-in', async () => {
      await page.clock.install();
      await killDatabase();
      await page.getByRole('link', { name: 'Members' }).click();
      await passTimeUntil(page, 'the page shows that the server is busy', isBusy);
      await page.reload();
      await passTimeUntil(page, 'the reloaded page shows that the server is busy', isBusy);
      expect(await page.getByLabel('Password', { exact: true }).count()).toBe(0);
      await restartDatabase();
      await page.getByRole('button', { name: 'Try again' }).first().click();
      await page.getByRole('heading', { name: 'Members', exact: true }).waitFor();
      await page.getByText(email).first().waitFor();
    });

    it('causes no browser errors or policy violations', () => {
      expect(browser.faults).toEqual([]);
    });
  });
});
