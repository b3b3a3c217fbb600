/**
 * Property test with random histories. Every counter store decides as a simple model does, and no 60 seconds exceed the
 * limit.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CounterStore } from '../../src/quota/model/counter-store.js';
import type { QuotaDecision } from '../../src/quota/model/policies.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import { ProcessCounters } from '../../src/quota/process/process-counters.js';
import { CounterModel, type Admitted, type Expected } from '../support/counter-model.js';
import { timedCounting } from '../support/counting.js';
import { describeWithRedis } from '../support/describe-with.js';
import { announceHistories, HISTORIES_TIMEOUT_MS, namedLimits, RUNS } from '../support/histories.js';
import {
  FixedMonths,
  limitsWith,
  countsByWindow,
  type NamedCounts,
  subjectWith,
  UTC_MONTHS,
} from '../support/quotas.js';
import { TestClock } from '../support/stores.js';
import { timedRedisCounters } from '../support/timed-redis.js';
import { ACCOUNT_MONTH } from '../../src/platform/quotas/windows.js';

const KEYS = ['key_1', 'key_2', 'key_3'];
/**
 * Start times of histories: mid-month, shortly before its end, and shortly before the end of a leap February. All are
 * in the far future.
 */
const BEGINNINGS = ['2100-11-20T10:00:00Z', '2100-12-31T23:59:20Z', '2104-02-28T23:59:30Z'].map((text) =>
  Date.parse(text),
);

type Step =
  | { readonly do: 'request'; readonly key: number; readonly cost: number; readonly count: number }
  | { readonly do: 'give back'; readonly which: number }
  | { readonly do: 'limits'; readonly limits: NamedCounts }
  | { readonly do: 'set'; readonly key: number | undefined; readonly used: number }
  | { readonly do: 'read'; readonly key: number }
  | { readonly do: 'wait'; readonly ms: number };

const key = fc.nat(KEYS.length - 1);
const limit = fc.oneof({ weight: 4, arbitrary: fc.nat(12) }, fc.constantFrom(Infinity, 40, 999_999_999_999_999));
const limits = namedLimits(limit);
const waitMs = fc.oneof(
  { weight: 5, arbitrary: fc.nat(3_000) },
  { weight: 3, arbitrary: fc.nat(70_000) },
  { weight: 2, arbitrary: fc.constantFrom(999, 1_000, 59_999, 60_000, 60_001, 60_999, 61_000, 61_001, 122_000) },
  { weight: 1, arbitrary: fc.nat(40 * 86_400_000) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('request' as const),
      key,
      cost: fc.constantFrom(1, 1, 1, 2, 5, 0),
      count: fc.constantFrom(1, 1, 1, 2, 6),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: waitMs }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('give back' as const), which: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('set' as const),
      key: fc.option(key, { nil: undefined }),
      used: fc.oneof(fc.nat(14), fc.constantFrom(0, 999_999_999_999_900)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('read' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('limits' as const), limits }) },
);
const history = fc.record({
  beginMs: fc.constantFrom(...BEGINNINGS),
  limits,
  steps: fc.array(step, { minLength: 1, maxLength: 50 }),
});
type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

/** Returns the fields of a decision that the model predicts. */
function seenOf(decision: QuotaDecision): Expected {
  const { admitted, used, violated, keyMinuteResetMs, accountMinuteResetMs, retryAtMs } = decision;
  return { admitted, used, violated, keyMinuteResetMs, accountMinuteResetMs, retryAtMs };
}

/**
 * Sorts decisions on equal concurrent requests into the order in which the store made them. Admitted ones come first.
 */
function inOrder(decisions: readonly QuotaDecision[]): QuotaDecision[] {
  return decisions.toSorted(
    (one, other) =>
      Number(other.admitted) - Number(one.admitted) || one.used[ACCOUNT_MONTH] - other.used[ACCOUNT_MONTH],
  );
}

let account = 0;

/** Plays a history on a store and on the model. Throws at the first decision that differs. */
async function play(store: CounterStore, clock: TestClock, { beginMs, limits: first, steps }: History): Promise<void> {
  const accountId = `acc_${++account}`;
  const subjectsOf = (of: NamedCounts): QuotaSubject[] =>
    KEYS.map((keyId) => subjectWith(of, { accountId, keyId: `${accountId}_${keyId}` }));
  clock.advance(beginMs - clock.now());
  const model = new CounterModel();
  const givable: { entry: Admitted; subject: QuotaSubject; decision: QuotaDecision }[] = [];
  let subjects = subjectsOf(first);
  for (const each of steps) {
    switch (each.do) {
      case 'wait':
        clock.advance(each.ms);
        break;
      case 'limits':
        subjects = subjectsOf(each.limits);
        break;
      case 'request': {
        const subject = subjects[each.key]!;
        const asked = Array.from({ length: each.count }, () => store.decide(subject, each.cost));
        // Concurrent requests have no fixed order, because the first may wait for the database while later ones need
        // not.
        for (const decision of inOrder(await Promise.all(asked))) {
          const { entry, expected } = model.decide(subject.keyId, subject.limits, each.cost, clock.now());
          deepStrictEqual(seenOf(decision), expected);
          if (entry !== undefined) givable.push({ entry, subject, decision });
        }
        break;
      }
      case 'give back': {
        const [given] = givable.splice(each.which % Math.max(1, givable.length), 1);
        if (given === undefined) break;
        await store.refund(given.subject, given.decision);
        model.refund(given.entry);
        break;
      }
      case 'set': {
        const keyId = each.key === undefined ? undefined : subjects[each.key]!.keyId;
        // Separates the set from other requests by a millisecond. Requests in the same millisecond would have no order.
        clock.advance(1);
        model.setMonth(keyId, each.used, clock.now());
        await store.setMonthUsed(accountId, keyId, UTC_MONTHS, each.used);
        clock.advance(1);
        break;
      }
      case 'read': {
        const { keyId } = subjects[each.key]!;
        const { used, keyMinuteResetMs, accountMinuteResetMs } = await store.read(accountId, keyId, UTC_MONTHS);
        const expected = { used: model.used(keyId, clock.now()), ...model.resets(keyId, clock.now()) };
        deepStrictEqual({ used, keyMinuteResetMs, accountMinuteResetMs }, expected);
        break;
      }
    }
  }
}

const spanSteps = fc.array(
  fc.record({
    key,
    cost: fc.constantFrom(1, 1, 2, 3),
    count: fc.constantFrom(1, 2, 9),
    waitMs: fc.oneof(fc.nat(2_000), fc.nat(30_000), fc.constantFrom(0, 999, 1_000, 59_000, 60_000, 61_000)),
    setBackMs: fc.oneof({ weight: 12, arbitrary: fc.constant(0) }, fc.nat(5_000), fc.nat(90_000), fc.nat(7_200_000)),
  }),
  { minLength: 10, maxLength: 60 },
);
type SpanSteps = typeof spanSteps extends fc.Arbitrary<infer T> ? T : never;

/**
 * Sends bursts of requests while the clock is sometimes set back. Returns the largest cost admitted in any 60 seconds.
 */
async function mostInAMinute(
  store: CounterStore,
  clock: TestClock,
  of: NamedCounts,
  steps: SpanSteps,
): Promise<{ key: number; account: number }> {
  const accountId = `acc_${++account}`;
  clock.advance(BEGINNINGS[0]! - clock.now());
  let trueMs = 0;
  const admitted: Admitted[] = [];
  for (const { key: index, cost, count, waitMs: ms, setBackMs } of steps) {
    trueMs += ms;
    clock.advance(ms - setBackMs);
    const subject = subjectWith(of, { accountId, keyId: `${accountId}_${KEYS[index]}` });
    const decisions = await Promise.all(Array.from({ length: count }, () => store.decide(subject, cost)));
    for (const decision of decisions)
      if (decision.admitted) admitted.push({ keyId: subject.keyId, atMs: trueMs, cost });
  }
  const most = { key: 0, account: 0 };
  for (const first of admitted) {
    const span = admitted.filter(({ atMs }) => atMs >= first.atMs && atMs < first.atMs + 60_000);
    const cost = (entries: readonly Admitted[]) => entries.reduce((sum, entry) => sum + entry.cost, 0);
    most.account = Math.max(most.account, cost(span));
    most.key = Math.max(most.key, cost(span.filter(({ keyId }) => keyId === first.keyId)));
  }
  return most;
}

function suite(open: (clock: TestClock) => Promise<{ store: CounterStore; close(): void | Promise<void> }>): void {
  const withStore = async (body: (store: CounterStore, clock: TestClock) => Promise<void>): Promise<void> => {
    const clock = new TestClock(BEGINNINGS[0]);
    const { store, close } = await open(clock);
    try {
      await body(store, clock);
    } finally {
      await close();
    }
  };

  it(
    'decide every random history as the model does',
    () =>
      withStore((store, clock) =>
        fc.assert(
          fc.asyncProperty(history, (drawn) => play(store, clock, drawn)),
          RUNS,
        ),
      ),
    HISTORIES_TIMEOUT_MS,
  );

  it(
    'never admit more than the limit in any 60 seconds, even while the clock is set back',
    () =>
      withStore((store, clock) =>
        fc.assert(
          fc.asyncProperty(
            fc.integer({ min: 1, max: 9 }),
            fc.integer({ min: 1, max: 14 }),
            spanSteps,
            async (byKey, byAccount, steps) => {
              const { keyMinute, accountMinute } = { keyMinute: byKey, accountMinute: byAccount };
              const most = await mostInAMinute(
                store,
                clock,
                countsByWindow(limitsWith({ keyMinute, accountMinute })),
                steps,
              );
              expect(most.key).toBeLessThanOrEqual(keyMinute);
              expect(most.account).toBeLessThanOrEqual(accountMinute);
            },
          ),
          RUNS,
        ),
      ),
    HISTORIES_TIMEOUT_MS,
  );
}

announceHistories('counters against the model');

describe('counters in the process', () => {
  suite(async (clock) => ({ store: new ProcessCounters(clock, new FixedMonths()), close: () => {} }));
});

describe('counters in the counting process', () => {
  suite(async (clock) => {
    const { counters, close } = await timedCounting(clock, new FixedMonths());
    return { store: counters, close };
  });
});

describeWithRedis('counters in Redis', () => {
  suite(async (clock) => {
    const { counters, close } = await timedRedisCounters(clock, new FixedMonths());
    return { store: counters, close };
  });
});
