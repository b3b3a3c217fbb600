/**
 * Property test of the counters with a clock that jumps ahead and back, by an hour and more. No count is ever negative.
 * A month holds exactly the cost that was admitted and not refunded. No 60 seconds of real time admit more than the
 * limit, unless a jump ahead falls between them.
 */
import { expect, describe, it } from '@jest/globals';
import fc from 'fast-check';
import type { CounterStore } from '../../src/quota/model/counter-store.js';
import type { QuotaCounts, QuotaDecision } from '../../src/quota/model/policies.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import { ProcessCounters } from '../../src/quota/process/process-counters.js';
import { describeWithRedis } from '../support/describe-with.js';
import { announceHistories, HISTORIES_TIMEOUT_MS, RUNS } from '../support/histories.js';
import { FixedMonths, subjectWith, UTC_MONTHS } from '../support/quotas.js';
import { TestClock } from '../support/stores.js';
import { timedRedisCounters } from '../support/timed-redis.js';
import { ACCOUNT_MONTH, KEY_MONTH } from '../../src/platform/quotas/windows.js';

const HOUR_MS = 3_600_000;
/** Start of each history: mid-month, so that no jump leaves the month, and in the far future. */
const BEGIN_MS = Date.parse('2100-11-20T10:00:00Z');
const SPAN_MS = 60_000;

const steps = fc.array(
  fc.record({
    key: fc.nat(1),
    cost: fc.constantFrom(1, 1, 2, 3),
    count: fc.constantFrom(0, 1, 2, 9),
    waitMs: fc.oneof(fc.nat(2_000), fc.nat(30_000), fc.constantFrom(0, 999, 1_000, 60_000, 61_000)),
    jumpMs: fc.oneof(
      { weight: 6, arbitrary: fc.constant(0) },
      { weight: 2, arbitrary: fc.constantFrom(-HOUR_MS, HOUR_MS, -61_000, 61_000, -60_000, -1_000) },
      { weight: 2, arbitrary: fc.integer({ min: -2 * HOUR_MS, max: 2 * HOUR_MS }) },
      { weight: 1, arbitrary: fc.integer({ min: -90_000, max: 90_000 }) },
    ),
    refund: fc.option(fc.nat(20), { freq: 3 }),
  }),
  { minLength: 5, maxLength: 50 },
);
type Steps = typeof steps extends fc.Arbitrary<infer T> ? T : never;

interface Admitted {
  readonly keyId: string;
  readonly atMs: number;
  /** Number of jumps ahead before the request. */
  readonly stretch: number;
  readonly subject: QuotaSubject;
  readonly decision: QuotaDecision;
}

interface Limits {
  readonly keyMinute: number;
  readonly accountMinute: number;
}

let account = 0;

async function play(store: CounterStore, clock: TestClock, limits: Limits, drawn: Steps): Promise<void> {
  clock.advance(BEGIN_MS - clock.now());
  const accountId = `acc_${++account}`;
  const subjects = ['a', 'b'].map((key) => subjectWith(limits, { accountId, keyId: `${accountId}_${key}` }));
  const admitted = new Set<Admitted>();
  let trueMs = 0;
  let stretch = 0;
  for (const { key, cost, count, waitMs, jumpMs, refund } of drawn) {
    trueMs += waitMs;
    clock.advance(waitMs + jumpMs);
    if (jumpMs > 0) stretch += 1;
    const subject = subjects[key]!;
    const decisions = await Promise.all(Array.from({ length: count }, () => store.decide(subject, cost)));
    for (const decision of decisions) {
      expectSound(decision.used);
      if (decision.admitted) admitted.add({ keyId: subject.keyId, atMs: trueMs, stretch, subject, decision });
    }
    // Refunds only requests of the last 60 seconds. A later refund after the clock was set back to the same second
    // would lower the current minute.
    const givable = [...admitted].filter(({ atMs }) => trueMs - atMs < SPAN_MS);
    const given = refund === null ? undefined : givable[refund % Math.max(1, givable.length)];
    if (given !== undefined) {
      await store.refund(given.subject, given.decision);
      admitted.delete(given);
    }
    await expectMonths(store, subjects, [...admitted]);
  }
  expectSpans([...admitted], limits);
}

function expectSound(used: Readonly<QuotaCounts>): void {
  for (const count of used) expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
}

const costOf = (entries: readonly Admitted[]): number => entries.reduce((sum, { decision }) => sum + decision.cost, 0);

async function expectMonths(store: CounterStore, subjects: readonly QuotaSubject[], admitted: readonly Admitted[]) {
  for (const { accountId, keyId } of subjects) {
    const { used } = await store.read(accountId, keyId, UTC_MONTHS);
    expectSound(used);
    const ofKey = admitted.filter((each) => each.keyId === keyId);
    expect([used[ACCOUNT_MONTH], used[KEY_MONTH]]).toEqual([costOf(admitted), costOf(ofKey)]);
  }
}

/** Expects that no 60 seconds of real time without a jump ahead admitted more than the minute limits. */
function expectSpans(admitted: readonly Admitted[], limits: Limits): void {
  for (const first of admitted) {
    const span = admitted.filter(
      ({ atMs, stretch }) => stretch === first.stretch && atMs >= first.atMs && atMs < first.atMs + SPAN_MS,
    );
    expect(costOf(span)).toBeLessThanOrEqual(limits.accountMinute);
    expect(costOf(span.filter(({ keyId }) => keyId === first.keyId))).toBeLessThanOrEqual(limits.keyMinute);
  }
}

function suite(open: (clock: TestClock) => Promise<{ store: CounterStore; close(): void }>): void {
  const limits = fc.record({ keyMinute: fc.integer({ min: 1, max: 9 }), accountMinute: fc.integer({ min: 1, max: 14 }) }); // prettier-ignore

  it(
    'keep exact months, and stay within minute limits between jumps ahead of their clock',
    async () => {
      const clock = new TestClock(BEGIN_MS);
      const { store, close } = await open(clock);
      try {
        await fc.assert(
          fc.asyncProperty(limits, steps, (of, drawn) => play(store, clock, of, drawn)),
          RUNS,
        );
      } finally {
        close();
      }
    },
    HISTORIES_TIMEOUT_MS,
  );
}

announceHistories('a clock that jumps');

describe('counters in the process', () => {
  suite(async (clock) => ({ store: new ProcessCounters(clock, new FixedMonths()), close: () => {} }));
});

describeWithRedis('counters in Redis', () => {
  suite(async (clock) => {
    const { counters, close } = await timedRedisCounters(clock, new FixedMonths());
    return { store: counters, close };
  });
});
