/**
 * Runs the program through years of months in the time zones of the table, on a controlled clock. The quota resets at
 * the first instant of a month, and every field and text about the reset names that instant.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import type { Answer } from '../support/http.js';
import { MONTH_TABLE, type TableMonth } from '../support/month-table.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { Caller, policiesOf } from '../support/rate-limit.js';
import { TurnedClock } from '../support/turned-clock.js';

const LIMIT = 2;
/** Maximum random delay that Retry-After adds to the time to the reset, so that clients spread out. */
const JITTER_SECONDS = 60;

let backend: Backend;
let clock: TurnedClock;
let gateway: RunningTrailgate;
const callers = new Map<string, { accountId: string; caller: Caller }>();

beforeAll(async () => {
  clock = new TurnedClock();
  backend = await startBackend(json({ ok: true }));
  gateway = await startTrailgate({
    backend: backend.url,
    env: { ...clock.env, LOG_LEVEL: 'warn' },
    config: { plans: { monthly: { account: { month: LIMIT } } } },
  });
});
afterAll(async () => {
  for (const { caller } of callers.values()) caller.close();
  await gateway.stop();
  await backend.stop();
  clock.close();
});

/** Returns the account of a time zone and billing day. Creates it on first use. */
async function accountOf({ zone, billingDay }: TableMonth): Promise<{ accountId: string; caller: Caller }> {
  const name = `${zone} ${billingDay}`;
  const known = callers.get(name);
  if (known !== undefined) return known;
  const { admin } = gateway;
  const account = await admin.createAccount({ plan: 'monthly', time_zone: zone, billing_day: billingDay });
  const { secret } = await admin.createKey(account.id);
  const made = { accountId: account.id, caller: new Caller(gateway.gatewayUrl, secret) };
  callers.set(name, made);
  return made;
}

function summarize(answer: Answer): object {
  return { status: answer.status, month: policiesOf(answer)[0], reset: answer.headers['x-ratelimit-reset'] };
}

/** Expects the full quota at the first instant of a month. */
async function expectBegun(month: TableMonth): Promise<void> {
  const { caller } = await accountOf(month);
  const seconds = (month.endMs - month.startMs) / 1_000;
  expect([month, summarize(await caller.get())]).toEqual([
    month,
    {
      status: 200,
      month: { name: 'account-month', q: LIMIT, w: seconds, r: LIMIT - 1, t: seconds },
      reset: `${seconds}`,
    },
  ]);
}

/** Expects one more request to be admitted a millisecond before the month ends, and the next to be refused. */
async function expectUsedUp(month: TableMonth): Promise<void> {
  const { caller, accountId } = await accountOf(month);
  const last = { name: 'account-month', q: LIMIT, w: (month.endMs - month.startMs) / 1_000, r: 0, t: 1 };
  expect([month, summarize(await caller.get())]).toEqual([month, { status: 200, month: last, reset: '1' }]);
  const refused = await caller.get();
  expect([month, summarize(refused)]).toEqual([month, { status: 429, month: last, reset: '1' }]);
  const retryAfter = Number(refused.headers['retry-after']);
  expect(retryAfter).toBeGreaterThanOrEqual(1);
  expect(retryAfter).toBeLessThanOrEqual(1 + JITTER_SECONDS);
  const written = month.end;
  expect(refused.json()).toMatchObject({
    code: 'quota_exceeded',
    detail: `Account ${accountId} has used 2 of 2 requests this month. It resets at ${written}.`,
  });
  const window = { policy: 'account-month', limit: LIMIT, used: LIMIT, remaining: 0, resets_at: written };
  expect((await caller.get('/usage')).json()['windows']).toEqual([window]);
}

/** Checks the start and the end of each month in chronological order. */
async function checkMonths(months: readonly TableMonth[]): Promise<void> {
  expect(months.length).toBeGreaterThan(40);
  const moments = months
    .flatMap((month) => [
      { atMs: month.startMs, check: () => expectBegun(month) },
      { atMs: month.endMs - 1, check: () => expectUsedUp(month) },
    ])
    .toSorted((a, b) => a.atMs - b.atMs);
  for (const { atMs, check } of moments) {
    clock.stopAt(atMs);
    await check();
  }
}

const ISSUE_ZONES = ['America/New_York', 'Asia/Kolkata', 'Pacific/Auckland', 'Pacific/Apia'];
const from = (start: string) => (month: TableMonth) => month.start >= start;

it('monthly quotas with billing day 1 reset exactly in four zones, over three years and a leap day', async () => {
  const months = MONTH_TABLE.filter(({ zone, billingDay }) => ISSUE_ZONES.includes(zone) && billingDay === 1);
  await checkMonths(months.filter(from('2026')));
});

it('monthly quotas reset exactly on billing days that a month lacks or on which the clocks change', async () => {
  const months = MONTH_TABLE.filter(
    ({ zone, billingDay }) => ISSUE_ZONES.includes(zone) && ![1, 15].includes(billingDay),
  );
  await checkMonths(months.filter(from('2027-12')).filter(({ start }) => start < '2028-12'));
});

it('monthly quotas reset exactly in zones whose clocks skip midnight', async () => {
  const months = MONTH_TABLE.filter(
    ({ zone, billingDay }) => ['Africa/Cairo', 'America/Havana'].includes(zone) && billingDay > 1,
  );
  await checkMonths(months.filter(({ start }) => start < '2027-05'));
});

it('monthly quotas reset exactly around 30 December 2011, the day that Apia skipped', async () => {
  callers.clear();
  await checkMonths(MONTH_TABLE.filter(({ zone, start }) => zone === 'Pacific/Apia' && start < '2012-05'));
});
