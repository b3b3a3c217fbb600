/** The quota month follows the time zone and the billing day of the account. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DateTime } from 'luxon';
import type { Account, ApiKeyWithSecret } from '../support/admin.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithRedis } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { policiesOf } from '../support/rate-limit.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const PLANS = { monthly: { account: { month: 100 } } };

let backend: Backend;
beforeAll(async () => {
  backend = await startBackend(json({ data: [] }));
});
afterAll(() => backend.stop());

/** Returns the end of the current month, computed with Luxon. */
function endOfMonth(zone: string, billingDay: number): DateTime {
  const now = DateTime.now().setZone(zone);
  const startOf = (month: DateTime) => month.set({ day: Math.min(billingDay, month.daysInMonth ?? 28) }).startOf('day');
  const [next] = [0, 1].map((months) => startOf(now.startOf('month').plus({ months }))).filter((start) => start > now);
  return next ?? now;
}

function describeMonths(start: () => Promise<SharedTrailgate>): void {
  let trailgate: SharedTrailgate;
  beforeAll(async () => {
    trailgate = await start();
  });
  afterAll(() => trailgate.stop());

  const get = (path: string, { secret }: ApiKeyWithSecret): Promise<Answer> =>
    send(`${trailgate.gatewayUrl}/api/v1${path}`, { headers: { authorization: `Bearer ${secret}` } });
  const make = async (account: Partial<Account>) => {
    const { id } = await trailgate.admin.createAccount({ plan: 'monthly', ...account });
    return { id, key: await trailgate.admin.createKey(id, { scopes: ['customers:read'] }) };
  };
  const windowOf = (answer: Answer) => (answer.json()['windows'] as { used: number; resets_at: string }[])[0]!;

  it.each([
    ['Pacific/Auckland', 1],
    ['America/New_York', 31],
    ['Asia/Kolkata', 15],
    ['Pacific/Apia', 29],
  ])('ends in %s on billing day %i in response fields, /usage and the admin API', async (zone, billingDay) => {
    const { id, key } = await make({ time_zone: zone, billing_day: billingDay });
    const answer = await get('/customers', key);
    const end = endOfMonth(zone, billingDay);
    const secondsLeft = end.toSeconds() - Date.now() / 1_000;
    expect(Math.abs(policiesOf(answer)[0]!.t - secondsLeft)).toBeLessThan(3);
    const written = end.toISO({ suppressMilliseconds: true })!;
    expect(windowOf(await get('/usage', key)).resets_at).toBe(written);
    expect((await trailgate.admin.usage(id)).windows[0]!.resets_at).toBe(written);
  });

  it('keeps its usage when the account moves to another time zone', async () => {
    const { id, key } = await make({ time_zone: 'UTC' });
    for (let call = 0; call < 3; call++) expect((await get('/customers', key)).status).toBe(200);
    await trailgate.admin.updateAccount(id, { time_zone: 'Europe/Berlin' });
    const usage = windowOf(await get('/usage', key));
    expect(usage.used).toBe(3);
    expect(usage.resets_at).toBe(endOfMonth('Europe/Berlin', 1).toISO({ suppressMilliseconds: true }));
    expect(policiesOf(await get('/customers', key))[0]!.r).toBe(96);
  });
}

describe('a quota month on the embedded store', () => {
  describeMonths(() => acquireTrailgate({ backend: backend.url, config: { plans: PLANS } }));
});

describeWithRedis('a quota month on Redis', () => {
  describeMonths(() => acquireTrailgate({ backend: backend.url, config: { plans: PLANS }, redis: true }));
});
