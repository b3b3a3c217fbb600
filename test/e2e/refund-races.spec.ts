/** A backend fails late. Meanwhile the month ends, the minute passes, the plan changes, or Redis is emptied. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { describeWithRedis } from '../support/describe-with.js';
import type { Answer } from '../support/http.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate, type TrailgateOptions } from '../support/program.js';
import { Caller } from '../support/rate-limit.js';
import { sharedRedisUrl } from '../support/redis.js';
import { emptyRedis } from '../support/timed-redis.js';
import { TurnedClock } from '../support/turned-clock.js';

const PLANS = {
  four: { key: { minute: 100, month: 1_000 }, account: { minute: 200, month: 2_000 } },
  small: { account: { month: 3 } },
  bare: {},
};
const COST = 5;
const FLUSH_MS = 100;

/** Callbacks that release the waiting requests for `/slow`, which then fail. */
let waiting: (() => void)[] = [];
let backend: Backend;
beforeAll(async () => {
  backend = await startBackend(async (request, response) => {
    if (request.url === '/slow') await new Promise<void>((release) => waiting.push(release));
    response.writeHead(request.url === '/slow' ? 503 : 200).end();
  });
});
afterAll(() => backend.stop());

const options = (more: TrailgateOptions): TrailgateOptions => ({
  backend: backend.url,
  config: {
    plans: PLANS,
    usage: { flushInterval: `${FLUSH_MS}ms` },
    operations: [{ match: 'GET /slow', service: 'backend', scopes: [], cost: COST }],
  },
  ...more,
});

let gateway: RunningTrailgate;
let caller: Caller;
let accountId: string;

async function newAccount(plan: string): Promise<void> {
  waiting = [];
  const { account, key } = await gateway.admin.newKey(plan);
  accountId = account.id;
  caller = new Caller(gateway.gatewayUrl, key.secret);
}

/** Sends requests that will fail, and waits until the backend has them. */
async function sendSlow(count = 1): Promise<Promise<Answer>[]> {
  const answers = Array.from({ length: count }, () => caller.get('/slow'));
  await eventually('the backend gets the requests', () => waiting.length === count);
  return answers;
}

/** Lets the waiting requests fail, and expects 503 for each. */
async function fail(answers: Promise<Answer>[]): Promise<void> {
  for (const release of waiting) release();
  for (const { status } of await Promise.all(answers)) expect(status).toBe(503);
}

const all = (used: number, minute = used) => ({
  'key-minute': minute,
  'account-minute': minute,
  'account-month': used,
  'key-month': used,
});

describe('a late refund', () => {
  let clock: TurnedClock;
  const beforeMidnightMs = Date.parse('2026-11-30T23:59:59.500Z');
  beforeAll(async () => {
    clock = new TurnedClock();
    gateway = await startTrailgate(options({ env: clock.env }));
  });
  afterAll(async () => {
    await gateway.stop();
    clock.close();
  });
  beforeEach(async () => {
    clock.stopAt(beforeMidnightMs);
    await newAccount('four');
  });
  afterEach(() => caller.close());

  it('in the next month leaves the usage of that month unchanged', async () => {
    const slow = await sendSlow(2);
    expect(await caller.used()).toEqual(all(2 * COST));
    clock.stopAt(beforeMidnightMs + 1_000);
    expect(await caller.burst(3)).toEqual({ 200: 3 });
    expect(await caller.used()).toEqual(all(3, 2 * COST + 3));
    await fail(slow);
    expect(await caller.used()).toEqual(all(3));
  });

  it('after the minute of its request has passed changes the month, but not the current minute', async () => {
    clock.stopAt(beforeMidnightMs - 86_400_000);
    const slow = await sendSlow();
    clock.stopAt(beforeMidnightMs - 86_400_000 + 61_000);
    expect(await caller.burst(4)).toEqual({ 200: 4 });
    expect(await caller.used()).toEqual(all(COST + 4, 4));
    await fail(slow);
    expect(await caller.used()).toEqual(all(4));
  });

  it('after the clock was set back an hour keeps the month exact and the minute no lower than its usage', async () => {
    clock.stopAt(beforeMidnightMs - 86_400_000);
    const slow = await sendSlow();
    clock.stopAt(beforeMidnightMs - 86_400_000 - 3_600_000);
    expect(await caller.burst(4)).toEqual({ 200: 4 });
    await fail(slow);
    const used = await caller.used();
    expect([used['account-month'], used['key-month']]).toEqual([4, 4]);
    // The cost may count in the minute from the new time on. A refund for the old time then does not find it.
    expect(used['key-minute']).toBeGreaterThanOrEqual(4);
    expect(used['key-minute']).toBeLessThanOrEqual(COST + 4);
  });
});

function describeLateRefunds(env: () => Promise<Record<string, string>>): void {
  beforeAll(async () => {
    gateway = await startTrailgate(options({ env: await env() }));
  });
  afterAll(() => gateway.stop());
  afterEach(() => caller.close());

  it('applies once to every window after the plan was changed and changed back', async () => {
    await newAccount('four');
    const slow = await sendSlow(3);
    await gateway.admin.updateAccount(accountId, { plan: 'bare' });
    expect(await caller.burst(2)).toEqual({ 200: 2 });
    await gateway.admin.updateAccount(accountId, { plan: 'four' });
    expect(await caller.used()).toEqual(all(3 * COST + 2));
    await fail(slow);
    await eventually('the costs are refunded', async () => (await caller.used())['key-minute'] === 2);
    await sleep(200);
    expect(await caller.used()).toEqual(all(2));
  });

  it('makes a limit fully available again that was lowered below the cost', async () => {
    await newAccount('four');
    const slow = await sendSlow(1);
    await gateway.admin.updateAccount(accountId, { plan: 'small' });
    expect(await caller.used()).toEqual({ 'account-month': COST });
    await fail(slow);
    await eventually('the cost is refunded', async () => (await caller.used())['account-month'] === 0);
    expect(await caller.burst(10)).toEqual({ 200: 3, 429: 7 });
  });

  it('goes to the account if the key was revoked meanwhile', async () => {
    await newAccount('four');
    const other = new Caller(gateway.gatewayUrl, (await gateway.admin.createKey(accountId)).secret);
    const slow = await sendSlow(2);
    const [{ id } = { id: '' }] = (await gateway.admin.listKeys(accountId)).data;
    await gateway.admin.revokeKey(id);
    await fail(slow);
    await eventually('the costs are refunded', async () => (await other.used())['account-month'] === 0);
    other.close();
  });
}

describe('a late refund on counters in the process', () => {
  describeLateRefunds(async () => ({}));
});

describeWithRedis('a late refund on counters in Redis', () => {
  describeLateRefunds(async () => ({ REDIS_URL: await sharedRedisUrl() }));

  it('applies to the month that was restored after Redis was emptied, and makes no count negative', async () => {
    await newAccount('four');
    expect(await caller.burst(7)).toEqual({ 200: 7 });
    const slow = await sendSlow(2);
    await sleep(4 * FLUSH_MS);
    const redis = await emptyRedis();
    redis.disconnect();
    expect(await caller.used()).toEqual(all(7 + 2 * COST, 0));
    await fail(slow);
    await eventually('the costs are refunded', async () => (await caller.used())['account-month'] === 7);
    expect(await caller.used()).toEqual(all(7, 0));
    expect(await caller.burst(3)).toEqual({ 200: 3 });
    expect(await caller.used()).toEqual(all(10, 3));
  });

  it('makes no count negative if Redis was emptied before the cost was written to the database', async () => {
    await newAccount('four');
    const slow = await sendSlow(2);
    const redis = await emptyRedis();
    redis.disconnect();
    await fail(slow);
    await sleep(300);
    for (const count of Object.values(await caller.used())) expect(count).toBeGreaterThanOrEqual(0);
    const { 'account-month': before = NaN } = await caller.used();
    expect(await caller.burst(4)).toEqual({ 200: 4 });
    expect((await caller.used())['account-month']).toBe(before + 4);
  });
});
