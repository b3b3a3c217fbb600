/** A page that is used with the keyboard alone. */
import type { Page } from 'playwright-core';

/** More than any page of the panel has to be gone through. */
const MOST_STEPS = 60;

/** Goes on with the Tab key until something with this name has the focus. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let step = 0; step < MOST_STEPS; step++) {
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

/** Takes the first of what a field offers, once it is offered, and waits until the list is gone. */
export async function takeFirst(page: Page): Promise<void> {
  await page.getByRole('option').first().waitFor();
  const chosen = page.locator('[role=option][data-combobox-selected]');
  for (let step = 0; step < MOST_STEPS && (await chosen.count()) === 0; step++) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('option').first().waitFor({ state: 'hidden' });
}
