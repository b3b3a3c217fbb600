/** The last day of a key is one of its account: what is chosen, what is said and what is shown are the same, wherever one sits. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { newPerson, panelUrlOf, signInThere, type Person } from '../support/panel-people.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

const DAY_MS = 86_400_000;

describeWithChromium('somebody who sits on the other side of the date line', () => {
  let trailgate: RunningTrailgate;
  let browser: Browser;
  let accountId: string;
  let ana: Person;

  beforeAll(async () => {
    [trailgate, browser] = await Promise.all([
      startTrailgate(),
      startBrowser({ timezoneId: 'Pacific/Pago_Pago', locale: 'en-GB' }),
    ]);
    accountId = (await trailgate.admin.createAccount({ plan: 'starter', time_zone: 'Pacific/Kiritimati' })).id;
    ana = await newPerson(trailgate, accountId, 'owner');
    await signInThere(browser.context, ana, panelUrlOf(trailgate));
  });
  afterAll(async () => {
    await browser?.close();
    await trailgate?.stop();
  });

  it.each([
    ['90 days', 'expires_in=90d', 90],
    ['a day of their own', 'expires_in=45d', 45],
  ])('chooses %s, and the key ends with the day that the dialog named', async (_what, query, days) => {
    const page = await browser.newPage();
    await page.goto(
      `${panelUrlOf(trailgate)}/${accountId}/api-keys/new?name=Until-${days}&scopes=customers:read&${query}`,
    );
    const there = { timeZone: 'Pacific/Kiritimati', day: 'numeric', month: 'short', year: 'numeric' } as const;
    const day = new Intl.DateTimeFormat('en-GB', there).format(Date.now() + days * DAY_MS);
    await page.getByText(`Its last day is ${day}`).waitFor();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('Copy it now').waitFor();
    await page.getByLabel('I have stored it in a safe place').check();
    await page.getByRole('button', { name: 'Done' }).click();
    const { data } = await trailgate.admin.listKeys(accountId);
    const made = data.find(({ name }) => name === `Until-${days}`);
    // The last second of that day, where the account is: 14 hours before UTC.
    expect(made?.expires_at).toMatch(/T23:59:59\+14:00$/);
    await page
      .getByRole('link', { name: `Until-${days}` })
      .first()
      .click();
    await page.getByRole('main').getByText(day).first().waitFor();
    await page.close();
  });

  it('threw nothing', () => {
    expect(browser.faults).toEqual([]);
  });
});
