/** Daily limits of a plan and of a key: response fields, refusal, usage report, and reset at the account's midnight. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DateTime } from 'luxon';
import { json, startBackend, type Backend } from '../support/backend.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { Caller, policiesOf } from '../support/rate-limit.js';
import { TurnedClock } from '../support/turned-clock.js';

const ZONE = 'America/New_York';
/** Day on which the clocks go back. It has 25 hours. */
const DAY = DateTime.fromISO('2026-11-01T00:00:00', { zone: ZONE });
const NEXT = DAY.plus({ days: 1 });
const HOUR_MS = 3_600_000;

let backend: Backend;
let clock: TurnedClock;
let gateway: RunningTrailgate;

beforeAll(async () => {
  clock = new TurnedClock();
  backend = await startBackend(json({ ok: true }));
  gateway = await startTrailgate({
    backend: backend.url,
    env: { ...clock.env, LOG_LEVEL: 'warn' },
    config: { plans: { daily: { account: { day: 4, month: 100 } } } },
  });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
  clock.close();
});

it('daily limits of a plan and of a key apply together until midnight in the account time zone', async () => {
  clock.stopAt(DAY.toMillis() + 2 * HOUR_MS);
  const account = await gateway.admin.createAccount({ plan: 'daily', time_zone: ZONE });
  const plain = await gateway.admin.createKey(account.id);
  const limited = await gateway.admin.createKey(account.id, { limits: { day: 1 } });
  const callers = [plain, limited].map(({ secret }) => new Caller(gateway.gatewayUrl, secret));
  const [plainCaller, limitedCaller] = callers as [Caller, Caller];
  try {
    const first = await limitedCaller.get();
    const t = 23 * 3_600;
    expect(policiesOf(first)).toEqual([
      { name: 'account-month', q: 100, w: 30 * 86_400 + 3_600, r: 99, t: expect.any(Number) },
      { name: 'account-day', q: 4, w: 25 * 3_600, r: 3, t },
      { name: 'key-day', q: 1, w: 25 * 3_600, r: 0, t },
    ]);
    const refused = await limitedCaller.get();
    expect([refused.status, refused.headers['x-should-retry'], refused.headers['retry-after']]).toEqual([
      429,
      'false',
      undefined,
    ]);
    expect(refused.json()).toMatchObject({
      code: 'quota_exceeded',
      detail: `Key ${limited.id} has used 1 of 1 requests today. It resets at 2026-11-02T00:00:00-05:00.`,
      'violated-policies': ['key-day'],
      resets_at: '2026-11-02T00:00:00-05:00',
    });
    const statuses = [];
    for (let call = 0; call < 4; call++) statuses.push((await plainCaller.get()).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    const usage = await plainCaller.get('/usage');
    expect(usage.json()).toMatchObject({
      windows: [
        { policy: 'account-month', used: 4 },
        { policy: 'account-day', used: 4, limit: 4, remaining: 0, resets_at: '2026-11-02T00:00:00-05:00' },
      ],
    });
    clock.stopAt(NEXT.toMillis());
    expect((await limitedCaller.get()).status).toBe(200);
    expect(policiesOf(await plainCaller.get()).slice(0, 2)).toMatchObject([
      { r: 94 },
      { name: 'account-day', w: 86_400, r: 2 },
    ]);
  } finally {
    for (const caller of callers) caller.close();
  }
});
