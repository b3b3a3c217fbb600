/** A list of more keys than a page shows: it goes on page by page, and is searched to the last of them. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { insertKeys } from '../support/many-keys.js';
import { newPerson, panelUrlOf, signInThere } from '../support/panel-people.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

const KEYS = 300;
const PAGE_SIZE = 50;
const LAST = 'Raft widget 00299';

describeWithChromium(`a list of ${KEYS} keys`, () => {
  let trailgate: RunningTrailgate;
  let browser: Browser;
  let page: Page;
  let home: string;

  beforeAll(async () => {
    [trailgate, browser] = await Promise.all([startTrailgate(), startBrowser()]);
    const { account, key } = await trailgate.admin.newKey('starter', { name: 'First', scopes: ['customers:read'] });
    insertKeys(trailgate.dataDir, key.id, KEYS - 1);
    home = `${panelUrlOf(trailgate)}/${account.id}/api-keys`;
    await signInThere(browser.context, await newPerson(trailgate, account.id, 'owner'), panelUrlOf(trailgate));
  });
  afterAll(async () => {
    await browser?.close();
    await trailgate?.stop();
  });

  const rows = () => page.locator('main tbody tr').count();

  it('goes on page by page, and says how many are shown', async () => {
    page = await browser.newPage();
    await page.goto(home);
    for (let shown = PAGE_SIZE; shown <= PAGE_SIZE * 4; shown += PAGE_SIZE) {
      await page.getByText(`${shown} keys so far`, { exact: true }).waitFor();
      expect(await rows()).toBe(shown);
      await page.getByRole('button', { name: 'Show more' }).click();
    }
  });

  it('is searched to the last of them, and back to all', async () => {
    const search = page.getByLabel('Search keys');
    await search.fill(LAST.toLowerCase());
    await page.getByText('1 key', { exact: true }).waitFor();
    expect(await page.getByRole('link', { name: LAST }).count()).toBe(1);
    await search.fill('');
    await eventually('all are there', async () => (await rows()) >= PAGE_SIZE);
    expect(browser.faults).toEqual([]);
  });
});
