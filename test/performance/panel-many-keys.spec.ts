/** The panel list of 2,000 keys is usable within a second, and its search field reacts at once. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeWithChromium } from '../support/describe-with.js';
import { median, msUntilUsable, startKeyList, type KeyList } from '../support/many-keys.js';

const KEYS = 2_000;
const SHOWN = 500;
const MAX_MS = 1_000;
/** Maximum ratio to the time for one key. The list first draws 50 keys. */
const MAX_RATIO = 1.4;
const ATTEMPTS = 5;
const TYPED = 'widget 019';
/** Maximum script time for a typed letter, on any machine. People notice 100 ms. */
const MAX_MS_OF_A_LETTER = 25;

describeWithChromium('the panel list of 2,000 keys', () => {
  let list: KeyList;
  /** Time until the list of a single key is usable. This is the minimum that the browser and the machine need. */
  let oneKeyMs: number;

  beforeAll(async () => {
    list = await startKeyList(1);
    oneKeyMs = await medianUntilUsable();
    list.add(KEYS - 1);
  });
  afterAll(() => list?.stop());

  async function medianUntilUsable(): Promise<number> {
    const measured: number[] = [];
    for (let attempt = 0; attempt < ATTEMPTS; attempt++)
      measured.push(await msUntilUsable(list.browser.context, list.url));
    return median(measured);
  }

  it('is usable within a second (median), with an empty browser cache, or on a slow machine almost as soon as one key', async () => {
    const ms = await medianUntilUsable();
    process.stderr.write(`one key: ${oneKeyMs.toFixed(0)} ms; ${KEYS} keys: ${ms.toFixed(0)} ms\n`);
    expect(ms).toBeLessThan(Math.max(MAX_MS, oneKeyMs * MAX_RATIO));
  });

  it('needs less than 25 ms of script time for each typed letter, with 500 rows shown', async () => {
    const page = await list.browser.newPage();
    await page.goto(list.url);
    await showMore(page);
    const devtools = await list.browser.context.newCDPSession(page);
    // Thread time does not depend on other load on the machine.
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
    const scriptMs = async (): Promise<number> => {
      const { metrics } = await devtools.send('Performance.getMetrics');
      return 1_000 * (metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? NaN);
    };
    const before = await scriptMs();
    const search = page.getByLabel('Search keys');
    await search.pressSequentially(TYPED, { delay: 20 });
    const computedMs = (await scriptMs()) - before;
    expect(computedMs / TYPED.length).toBeLessThan(MAX_MS_OF_A_LETTER);
    expect(await search.inputValue()).toBe(TYPED);
  });

  async function showMore(page: Page): Promise<void> {
    for (let shown = 50; shown < SHOWN; shown += 50) {
      await page.getByText(`Showing ${shown} keys`, { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Load more' }).click();
    }
    await page.getByText(`Showing ${SHOWN} keys`, { exact: true }).waitFor();
  }
});
