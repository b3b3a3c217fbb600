/** A page that is used with the keyboard alone. */
import type { Page } from 'playwright-core';

/** More than any page of the panel has to be gone through. */
const MAX_STEPS = 60;
/** A key that was not heeded by then is pressed again. */
const HEEDED_MS = 2_000;

/** Goes on with the Tab key until something with this name has the focus. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let step = 0; step < MAX_STEPS; step++) {
    const focused = await page.evaluate<string>(
      `document.activeElement === document.body ? '' : (document.activeElement?.labels?.[0]?.textContent ?? document.activeElement?.getAttribute('aria-label')
          ?? document.activeElement?.textContent ?? '').trim()`,
    );
    if (focused.includes(name)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`the keyboard does not come to ${name}`);
}

/** Goes there and presses it. */
export async function pressByKeyboard(page: Page, name: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
}

/**
 * Takes what a field offers first, once it is offered, and waits until the list is gone. Keys that come in the instant in which a list opens
 * are not heeded: they are pressed again, as a person would.
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

/** Presses Enter; whether the list is gone then. */
async function isTaken(page: Page): Promise<boolean> {
  await page.keyboard.press('Enter');
  const gone = page.getByRole('option').first().waitFor({ state: 'hidden', timeout: HEEDED_MS });
  return gone.then(
    () => true,
    () => false,
  );
}
