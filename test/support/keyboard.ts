/** Operates a page with the keyboard only. */
import type { Page } from 'playwright-core';

/** Maximum number of key presses. More than any page of the panel needs. */
const MAX_STEPS = 60;
/** Time in ms after which an ignored Enter is repeated. */
const HEEDED_MS = 2_000;

/** Presses Tab until an element whose label or text contains `name` has the focus. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let step = 0; step < MAX_STEPS; step++) {
    const focused = await page.evaluate<string>(
      `document.activeElement === document.body ? '' : (document.activeElement?.labels?.[0]?.textContent ?? document.activeElement?.getAttribute('aria-label')
          ?? document.activeElement?.textContent ?? '').trim()`,
    );
    if (focused.includes(name)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`no element with the name ${name} is reachable with Tab`);
}

/** Moves the focus to an element with Tab, and presses Enter. */
export async function pressByKeyboard(page: Page, name: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
}

/**
 * Waits for the options of a combobox, selects the first one, and waits until the list closes. A list that is just
 * opening ignores keys, so they are pressed repeatedly.
 */
export async function takeFirst(page: Page): Promise<void> {
  const offered = page.getByRole('option');
  await offered.first().waitFor();
  const chosen = page.locator('[role=option][data-combobox-selected]');
  for (let step = 0; step < MAX_STEPS && (await offered.count()) > 0; step++) {
    if ((await chosen.count()) > 0 && (await isTaken(page))) return;
    await page.keyboard.press('ArrowDown');
  }
  await offered.first().waitFor({ state: 'hidden' });
}

/** Presses Enter, and reports whether the list closed. */
async function isTaken(page: Page): Promise<boolean> {
  await page.keyboard.press('Enter');
  const gone = page.getByRole('option').first().waitFor({ state: 'hidden', timeout: HEEDED_MS });
  return gone.then(
    () => true,
    () => false,
  );
}
