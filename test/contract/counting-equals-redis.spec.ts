/**
 * The counting process behaves as Redis does. Random calls of every script give the same replies. Redis runs the Lua
 * script, and the counting process the function of the same name.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { DECIDE_LUA } from '../../src/quota/redis/scripts/decide.js';
import { SEED_LUA } from '../../src/quota/redis/scripts/seed.js';
import { SET_USED_LUA } from '../../src/quota/redis/scripts/set-used.js';
import { countingClient, startCounting, type Counting } from '../support/counting.js';
import { describeWithRedis } from '../support/describe-with.js';
import { announceHistories, HISTORIES_TIMEOUT_MS, RUNS } from '../support/histories.js';
import {
  counterOf,
  DAY_MS,
  HOUR_MS,
  monthOf,
  nextNumber,
  START_MS,
  steps,
  type Call,
  type Scene,
  type Step,
} from '../support/script-calls.js';
import { TestClock } from '../support/stores.js';
import { emptyRedis, withTimeArgument } from '../support/timed-redis.js';

announceHistories('the counting process against Redis');

describeWithRedis('the counting process', () => {
  const clock = new TestClock(START_MS);
  let redis: Redis;
  let counting: Counting;
  let own: Redis;
  const timed = new Map<string, string>();
  let account = 0;
  let last = '';
  const replies = new Map<string, number>();

  beforeAll(async () => {
    redis = await emptyRedis();
    counting = await startCounting(clock);
    own = await countingClient(counting.path);
  });
  afterAll(async () => {
    redis.disconnect();
    own.disconnect();
    await counting.stop();
  });

  async function play(drawn: readonly Step[]): Promise<void> {
    await redis.flushdb();
    counting.empty();
    clock.advance(START_MS - clock.now());
    const scene = { account: `acc_${++account}`, batches: new Map(), sets: [] };
    for (const each of drawn) {
      // Each call has its own millisecond, so that both sides use the same time in microseconds.
      clock.advance(each.waitMs);
      const { script, keys, args } = each.call({ ...scene, nowMs: clock.now() });
      const source = timed.get(script) ?? withTimeArgument(script);
      timed.set(script, source);
      const expected = await redis.eval(source, keys.length, ...keys, ...args, clock.now());
      const reply = await own.eval(script, keys.length, ...keys, ...args);
      deepStrictEqual(reply, expected);
      last = String(reply);
      replies.set(script, (replies.get(script) ?? 0) + 1);
    }
  }

  const [january, february] = [31 * DAY_MS, 35 * DAY_MS];
  const both = [0, 1];
  const step = (made: (scene: Scene) => Call): Step => ({ waitMs: 1, call: made });
  /** Creates the counters of account and key in a month. If given, node `by` reports `refunded` as its refunds. */
  const created = (aheadMs: number, used: number, by = '', refunded = 0): Step =>
    step(({ nowMs, account: of }) => {
      const log = refunded === 0 ? '' : `${nowMs * 1_000} ${-refunded}`;
      const args = [
        ...monthOf(nowMs, aheadMs),
        nowMs + 2_000,
        by,
        1,
        ...both.flatMap(() => [used, 1, 0, '', '', 0, 0, 0, log]),
      ];
      return { script: SEED_LUA, keys: both.map((each) => counterOf(of, each)), args };
    });
  const decided = (aheadMs: number, by: string): Step =>
    step(({ nowMs, account: of }) => {
      const keys = [...both.map((each) => counterOf(of, each)), `tg:b:${of}:${by}`];
      const line = `1 1 -1 -1 100 100 -1 -1 ${monthOf(nowMs, aheadMs).join(' ')}\n`;
      return { script: DECIDE_LUA, keys, args: [nowMs + 100, nextNumber(), HOUR_MS, line] };
    });
  /** Sets the month count of the key. The script also gets the counter of the account. */
  const set = (aheadMs: number, used: number): Step =>
    step(({ nowMs, account: of }) => ({
      script: SET_USED_LUA,
      keys: [counterOf(of, 1), counterOf(of, 0)],
      args: [...monthOf(nowMs, aheadMs), used, nowMs + 240],
    }));

  it('returns to a month with a negative count, as Redis does', async () => {
    await play([created(january, 0, 'one', 2), decided(february, 'one'), decided(january, 'one')]);
    // Counts before the January request: 1 in the minute from the February request, and -2 in January.
    expect(last).toMatch(/^\d+ 1 1 1 -2 -2 /);
  });

  it('keeps one count for a month that a set made current, as Redis does', async () => {
    await play([
      created(january, 5),
      decided(february, 'one'),
      set(january, 9),
      decided(february, 'one'),
      decided(january, 'one'),
    ]);
    expect(last).toMatch(/^\d+ 1 2 2 9 9 /);
  });

  it('does not ask nodes for reports when the month was set, as Redis does', async () => {
    await play([created(0, 5, 'one'), set(0, 9), decided(0, 'two')]);
    expect(last).toMatch(/^\d+ 1 0 0 9 9 /);
  });

  it(
    'replies to random calls of all scripts as Redis does',
    async () => {
      await fc.assert(fc.asyncProperty(steps, play), RUNS);
      // All twelve scripts must have been called.
      expect(replies.size).toBe(12);
    },
    HISTORIES_TIMEOUT_MS,
  );
});
