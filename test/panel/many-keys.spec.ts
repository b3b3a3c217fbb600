/** A list of more keys than one page shows: it loads page by page, and a search covers all of them. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeWithChromium } from '../support/describe-with.js';
import { startKeyList, type KeyList } from '../support/many-keys.js';
import { eventually } from '../support/processes.js';

const KEYS = 300;
const PAGE_SIZE = 50;
const LAST = 'Raft widget 00299';

describeWithChromium(`a list of ${KEYS} keys`, () => {
  let list: KeyList;
  let page: Page;

  beforeAll(async () => {
    list = await startKeyList(KEYS);
  });
  afterAll(() => list?.stop());

  const rows = () => page.locator('main tbody tr').count();

  it('loads page by page, and says how many are shown', async () => {
    page = await list.browser.newPage();
    await page.goto(list.url);
    for (let shown = PAGE_SIZE; shown <= PAGE_SIZE * 4; shown += PAGE_SIZE) {
      await page.getByText(`Showing ${shown} keys`, { exact: true }).waitFor();
      expect(await rows()).toBe(shown);
      await page.getByRole('button', { name: 'Load more' }).click();
    }
  });

  it('finds the last key by search, and shows the list again afterwards', async () => {
    const search = page.getByLabel('Search keys');
    await search.fill(LAST.toLowerCase());
    await page.getByText('1 key', { exact: true }).waitFor();
    expect(await page.getByRole('link', { name: LAST }).count()).toBe(1);
    await search.fill('');
    await eventually('the list is shown again', async () => (await rows()) >= PAGE_SIZE);
    expect(list.browser.faults).toEqual([]);
  });
});
