/**
 * Invalid limits and time zones cause a clear error before anything runs. Extreme limits and clocks are counted
 * exactly.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { Crowd } from '../support/crowd.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { writeConfig } from '../support/program-config.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';
import { Caller, policiesOf } from '../support/rate-limit.js';
import { TurnedClock } from '../support/turned-clock.js';

/** The largest integer of a structured field (RFC 9651 section 3.3.1). It is below 2^53, so that sums stay exact. */
const MOST = 999_999_999_999_999;
const HOUR_MS = 3_600_000;
const MINUTE_LIMIT = 40;
const PLANS = {
  nothing: { account: { minute: 0, month: 0 } },
  most: { key: { minute: MOST, month: MOST }, account: { minute: MOST, month: MOST } },
  minute: { account: { minute: MINUTE_LIMIT, month: 1_000_000 } },
};

let backend: Backend;
let clock: TurnedClock;
let gateway: RunningTrailgate;
beforeAll(async () => {
  clock = new TurnedClock();
  backend = await startBackend(json({ ok: true }));
  gateway = await startTrailgate({ backend: backend.url, config: { plans: PLANS }, env: clock.env });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
  clock.close();
});

async function callerOn(plan: keyof typeof PLANS): Promise<Caller> {
  return new Caller(gateway.gatewayUrl, (await gateway.admin.newKey(plan)).key.secret);
}

describe('a limit in the configuration', () => {
  it('is rejected unless it is a whole number in range, with one line that gives position and reason', async () => {
    const whys = {
      '-1': 'must be at least 0',
      '-1e300': 'must be at least 0',
      '0.5': 'must be a whole number',
      '9007199254740993': `must be at most ${MOST}`,
      '1e300': `must be at most ${MOST}`,
      '.inf': 'must be a number, not \\.inf',
      '.nan': 'must be a number, not \\.nan',
      '"10"': 'must be a number, not `10`',
      ten: 'must be a number, not `ten`',
    };
    const written = Object.keys(whys);
    const plans = Object.fromEntries(written.map((_, index) => [`plan${index}`, { key: { minute: `LIMIT${index}` } }]));
    const path = writeConfig(temporaryFolder('limits'), { targets: [backend.url], config: { plans } });
    const text = readFileSync(path, 'utf8').replaceAll(/LIMIT(\d)/g, (_, index) => written[Number(index)]!);
    writeFileSync(path, text);
    const { code, stdout, stderr } = await runTrailgate(['check', '--config', path]);
    const lines = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('gateway.yaml:'));
    const expected = written.map((limit, index) => {
      const at = text.slice(0, text.indexOf(`plan${index}:`)).split('\n').length + 2;
      return expect.stringMatching(
        new RegExp(
          `gateway\\.yaml:${at}:\\d+ +plans\\.plan${index}\\.key\\.minute: ${whys[limit as keyof typeof whys]}`,
        ),
      );
    });
    expect({ code, lines }).toEqual({ code: 1, lines: expected });
  });

  it('of 0 refuses every request, without Retry-After, and counts nothing', async () => {
    const caller = await callerOn('nothing');
    backend.requests.length = 0;
    expect(await caller.burst(20)).toEqual({ 429: 20 });
    const answer = await caller.get();
    expect(policiesOf(answer)).toMatchObject([
      { name: 'account-minute', q: 0, r: 0 },
      { name: 'account-month', q: 0, r: 0 },
    ]);
    // Waiting would not help, because no request ever fits.
    expect([answer.headers['retry-after'], answer.headers['x-should-retry']]).toEqual([undefined, 'false']);
    expect(await caller.used()).toEqual({ 'account-minute': 0, 'account-month': 0 });
    expect(backend.requests).toHaveLength(0);
    caller.close();
  });

  it('of the largest allowed value is counted down exactly', async () => {
    const caller = await callerOn('most');
    expect(await caller.burst(10)).toEqual({ 200: 10 });
    for (const { q, r } of policiesOf(await caller.get())) expect([q, r]).toEqual([MOST, MOST - 11]);
    caller.close();
  });
});

describe('limits of a key, through the admin API', () => {
  it.each([-1, 0.5, 2 ** 53, MOST + 1, '10', true])('of %p are rejected with 422 on POST and PATCH', async (limit) => {
    const { account, key } = await gateway.admin.newKey('minute');
    for (const window of ['minute', 'month']) {
      const body = { limits: { [window]: limit } };
      const made = await gateway.admin.request('POST', `/accounts/${account.id}/api-keys`, { name: 'a', scopes: ['*'], ...body }); // prettier-ignore
      const changed = await gateway.admin.request('PATCH', `/api-keys/${key.id}`, body);
      for (const answer of [made, changed]) {
        expect(answer.status).toBe(422);
        expect(answer.json<{ errors: { pointer: string }[] }>().errors[0]?.pointer).toBe(`#/limits/${window}`);
      }
    }
    expect((await gateway.admin.listKeys(account.id)).data).toHaveLength(1);
  });
});

describe('a time zone', () => {
  it.each(['Mars/Olympus', '+01:00', '', ' UTC', 'UTC\u0000', 'Europe/Vienna; drop', 'x'.repeat(65), 7])(
    'of %p is refused with 422',
    async (zone) => {
      const answer = await gateway.admin.request('POST', '/accounts', { name: 'a', plan: 'minute', time_zone: zone });
      expect(answer.status).toBe(422);
      expect(answer.json<{ errors: { pointer: string }[] }>().errors[0]?.pointer).toBe('#/time_zone');
    },
  );

  it.each(['europe/vienna', 'Asia/Calcutta', 'EST5EDT', 'Etc/GMT+12', 'Pacific/Kiritimati', 'GMT', 'US/Pacific'])(
    'of %s is accepted, and its account is served',
    async (zone) => {
      const { id } = await gateway.admin.createAccount({ plan: 'minute', time_zone: zone, billing_day: 31 });
      const caller = new Caller(gateway.gatewayUrl, (await gateway.admin.createKey(id)).secret);
      expect((await caller.get()).status).toBe(200);
      expect((await gateway.admin.usage(id)).windows[1]?.resets_at).toMatch(/^\d{4}-\d\d-\d\dT00:00:00[+-]\d\d:\d\d$/);
      caller.close();
    },
  );
});

describe('a system clock', () => {
  /** Sends requests while the clock jumps. Returns the number admitted after each jump, and the monthly usage. */
  async function admittedAfter(jumps: readonly number[]): Promise<{ admitted: number[]; used: number }> {
    clock.runAhead(0);
    const { account, key } = await gateway.admin.newKey('minute');
    const crowd = new Crowd([{ gatewayUrl: gateway.gatewayUrl, secret: key.secret }], 30);
    const admitted: number[] = [];
    for (const aheadMs of jumps) {
      clock.runAhead(aheadMs);
      const [before, answered] = [crowd.of(200), crowd.answered];
      await eventually('all clients have sent enough requests', () => crowd.answered >= answered + 3 * MINUTE_LIMIT);
      admitted.push(crowd.of(200) - before);
    }
    await crowd.stop();
    clock.runAhead(0);
    expect(Object.keys(crowd.statuses)).toEqual(['200', '429']);
    expect(crowd.of(200)).toBe(admitted.reduce((sum, count) => sum + count, 0));
    const used = (await gateway.admin.usage(account.id)).windows.find(({ policy }) => policy === 'account-month');
    return { admitted, used: used?.used ?? NaN };
  }

  it('set back an hour opens no second limit, and blocks requests for about a minute at most', async () => {
    const { admitted, used } = await admittedAfter([0, -HOUR_MS, -HOUR_MS + 10_000, -HOUR_MS + 62_000]);
    expect(admitted).toEqual([MINUTE_LIMIT, 0, 0, MINUTE_LIMIT]);
    expect(used).toBe(2 * MINUTE_LIMIT);
  });

  it('set back and then corrected opens one more limit only, and the month counts every request', async () => {
    const { admitted, used } = await admittedAfter([0, -HOUR_MS, 0, -HOUR_MS]);
    expect(admitted).toEqual([MINUTE_LIMIT, 0, MINUTE_LIMIT, 0]);
    expect(used).toBe(2 * MINUTE_LIMIT);
  });
});
