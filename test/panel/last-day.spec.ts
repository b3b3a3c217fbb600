/**
 * The panel uses the days of the account's time zone, wherever the user is. This applies to the last day of a key, and
 * to the day on which the monthly limit will be reached.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { passTimeUntil, startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { newPerson, panelUrlOf, signInThere, type Person } from '../support/panel-people.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const DAY_MS = 86_400_000;
const THERE = 'Pacific/Kiritimati';
const dayThere = (ms: number, locale = 'en-GB'): string =>
  new Intl.DateTimeFormat(locale, { timeZone: THERE, dateStyle: 'medium' }).format(ms);
/** Maximum duration of the tests. Midnight may pass meanwhile. */
const WHILE_MS = 900_000;
/** Interval at which a page requests usage. */
const READ_AGAIN_MS = 30_000;
/** Monthly limit of the plan of a small account. */
const MONTH = 30;

describeWithChromium('a member on the other side of the date line', () => {
  let backend: Backend;
  let trailgate: SharedTrailgate;
  let browser: Browser;
  let accountId: string;
  let ana: Person;

  beforeAll(async () => {
    backend = await startBackend(json({ data: [] }));
    [trailgate, browser] = await Promise.all([
      acquireTrailgate({ backend: backend.url, config: { plans: { small: { account: { month: MONTH } } } } }),
      startBrowser({ timezoneId: 'Pacific/Pago_Pago', locale: 'en-GB' }),
    ]);
    accountId = (await trailgate.admin.createAccount({ plan: 'starter', time_zone: THERE })).id;
    ana = await newPerson(trailgate, accountId, 'owner');
    await signInThere(browser.context, ana, panelUrlOf(trailgate));
  });
  afterAll(async () => {
    await browser?.close();
    await trailgate?.stop();
    await backend?.stop();
  });

  it.each([
    ['90 days', 'expires_in=90d', 90],
    ['a day of their own', 'expires_in=45d', 45],
  ])('chooses %s, and the key ends on the day that the dialog shows', async (_what, query, days) => {
    const page = await browser.newPage();
    await page.goto(
      `${panelUrlOf(trailgate)}/${accountId}/api-keys/new?name=Until-${days}&scopes=customers:read&${query}`,
    );
    const day = dayThere(Date.now() + days * DAY_MS);
    await page.getByText(`Expires ${day}`).waitFor();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('Copy your secret now').waitFor();
    await page.getByLabel("I've saved this secret").check();
    await page.getByRole('button', { name: 'Done' }).click();
    const { data } = await trailgate.admin.listKeys(accountId);
    const made = data.find(({ name }) => name === `Until-${days}`);
    // The last second of that day in the zone of the account, 14 hours ahead of UTC.
    expect(made?.expires_at).toMatch(/T23:59:59\+14:00$/);
    await page
      .getByRole('link', { name: `Until-${days}` })
      .first()
      .click();
    await page.getByRole('main').getByText(day).first().waitFor();
    await page.close();
  });

  it('sees when the month will be used up at this rate, in both languages', async () => {
    // The month of the account begins today, so enough of it is left on any day.
    const today = new Intl.DateTimeFormat('en-GB', { timeZone: THERE, day: 'numeric' }).format(Date.now());
    const account = { plan: 'small', time_zone: THERE, billing_day: Math.min(28, Number(today)) };
    const { id } = await trailgate.admin.createAccount(account);
    const { secret } = await trailgate.admin.createKey(id, { name: 'Widget', scopes: ['customers:read'] });
    const context = await browser.newContext();
    await signInThere(context, await newPerson(trailgate, id, 'owner', 'Ben'), panelUrlOf(trailgate));
    // Use a third of the monthly limit on the first day, so that the rest lasts two more days.
    const headers = { authorization: `Bearer ${secret}` };
    for (let call = 0; call < MONTH / 3; call++)
      expect((await send(`${trailgate.gatewayUrl}/api/v1/customers`, { headers })).status).toBe(200);
    const usedUpMs = Date.now() + 2 * DAY_MS;
    const page = await context.newPage();
    await page.clock.install();
    for (const [locale, words] of [
      ['en-GB', (day: string) => `At this rate you'll reach your limit on ${day}.`],
      ['es', (day: string) => `A este ritmo alcanzará su límite el ${day}.`],
    ] as const) {
      await page.goto(`${panelUrlOf(trailgate)}/${id}/usage`);
      const days = [dayThere(usedUpMs, locale), dayThere(usedUpMs + WHILE_MS, locale)];
      const texts = days.map((day) => page.getByText(words(day), { exact: true }));
      const either = texts.reduce((one, other) => one.or(other)).first();
      // The page requests usage again every half a minute.
      await passTimeUntil(page, `the forecast appears in ${locale}`, () => either.isVisible(), READ_AGAIN_MS);
      await page.evaluate(`localStorage.setItem('trailgate-locale', 'es')`);
    }
    await context.close();
  });

  it('causes no browser errors or policy violations', () => {
    expect(browser.faults).toEqual([]);
  });
});
