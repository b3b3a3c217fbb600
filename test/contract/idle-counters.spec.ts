/** Idle counters in the process are removed without losing a count. Uses a real SQLite. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { pino } from 'pino';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { FlushProgress } from '../../src/quota/model/flush-progress.js';
import { MonthLedger } from '../../src/quota/usage/month-ledger.js';
import type { QuotaDecision } from '../../src/quota/model/policies.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import { ProcessCounters } from '../../src/quota/process/process-counters.js';
import { LimiterSink } from '../../src/quota/limiter-sink.js';
import { ShadowLimits } from '../../src/quota/shadow-limits.js';
import { Limiter } from '../../src/quota/limiter.js';
import { ProcessThrottleWindows } from '../../src/quota/throttle-windows.js';
import { UsageFlush } from '../../src/quota/usage/usage-flush.js';
import { UsageRecorder } from '../../src/quota/usage/usage-recorder.js';
import { UsageTable } from '../../src/quota/usage/usage-table.js';
import { repeat } from '../support/counter-stores.js';
import { testDatabase } from '../support/database.js';
import { FixedMonths, countsByWindow, subjectWith } from '../support/quotas.js';
import { TestClock } from '../support/stores.js';

const LOG = pino({ level: 'silent' });
const NOW_MS = Date.parse('2026-11-20T10:00:00Z');
const MINUTE_MS = 60_000;

/** Wires a process with its own counters as the program does. */
class Process {
  readonly counters: ProcessCounters;
  readonly flush: UsageFlush;
  private readonly limiter: Limiter;

  constructor(database: DatabaseHandle, clock: TestClock) {
    const rounds = new FlushProgress();
    const ledger = new MonthLedger(database.db, clock);
    const shadows = new ShadowLimits(clock, false);
    this.counters = new ProcessCounters(clock, ledger, 'store', rounds, new LimiterSink(ledger, shadows, clock));
    const throttles = new ProcessThrottleWindows(clock);
    this.limiter = new Limiter(this.counters, shadows, ledger, throttles, clock, LOG);
    const table = new UsageTable(database.db, database.kind, false);
    const options = { isShared: false, exact: this.counters, rounds };
    this.flush = new UsageFlush(table, ledger, new UsageRecorder(clock), clock, LOG, options);
  }

  async decide(subject: QuotaSubject, cost = 1): Promise<QuotaDecision> {
    return this.limiter.decide(subject, cost);
  }

  /** Refunds a decision, and waits until the refund is complete. */
  async refund(subject: QuotaSubject, decision: QuotaDecision): Promise<void> {
    this.limiter.refund(subject, decision);
    await this.counters.read(subject.accountId, subject.keyId, subject.calendar);
    await new Promise((resolve) => setImmediate(resolve));
  }

  async used(subject: QuotaSubject) {
    return countsByWindow((await this.counters.read(subject.accountId, subject.keyId, subject.calendar)).used);
  }
}

describe('idle counters', () => {
  let database: DatabaseHandle;
  let clock: TestClock;
  let running: Process;
  beforeEach(async () => {
    database = await testDatabase('sqlite');
    clock = new TestClock(NOW_MS);
    running = new Process(database, clock);
  });
  afterEach(() => database.close());

  const sweep = () => running.counters.reapIdle();
  const flushAndReap = async () => {
    await running.flush.flush();
    clock.advance(3 * MINUTE_MS);
    sweep();
  };
  const none = { accounts: 0, keys: 0 };
  const one = { accounts: 1, keys: 1 };

  it('are removed after two minutes, and come back with their month', async () => {
    const subject = subjectWith({ accountMonth: 10 });
    for (let request = 0; request < 6; request++) await running.decide(subject);
    await running.flush.flush();
    clock.advance(2 * MINUTE_MS - 1_000);
    sweep();
    expect(running.counters.size).toEqual(one);
    clock.advance(1_000);
    sweep();
    expect(running.counters.size).toEqual(none);
    expect(countsByWindow((await running.decide(subject)).used)).toMatchObject({
      accountMonth: 7,
      keyMonth: 7,
      accountMinute: 1,
    });
    const verdicts = await Promise.all(repeat(5, () => running.decide(subject)));
    expect(verdicts.map(({ admitted }) => admitted)).toEqual([true, true, true, false, false]);
  });

  it('stay while the database lacks their counts', async () => {
    const subject = subjectWith({});
    await running.decide(subject);
    await running.flush.flush();
    await running.decide(subject);
    await sql`alter table quota_counter rename to away`.execute(database.db);
    await expect(running.flush.flush()).rejects.toThrow(/quota_counter/);
    clock.advance(60 * MINUTE_MS);
    sweep();
    expect(running.counters.size).toEqual(one);
    await sql`alter table away rename to quota_counter`.execute(database.db);
    await running.flush.flush();
    clock.advance(3 * MINUTE_MS);
    sweep();
    expect(running.counters.size).toEqual(none);
    expect(await running.used(subject)).toMatchObject({ accountMonth: 2, keyMonth: 2 });
  });

  it('stay if they were used during the last flush', async () => {
    const subject = subjectWith({});
    await running.decide(subject);
    const flushing = running.flush.flush();
    // The jump of the clock makes the counters look idle during the flush.
    clock.advance(60 * MINUTE_MS);
    await running.decide(subject);
    await flushing;
    clock.advance(60 * MINUTE_MS);
    sweep();
    expect(running.counters.size).toEqual(one);
    await flushAndReap();
    expect(await running.used(subject)).toMatchObject({ accountMonth: 2, keyMonth: 2 });
  });

  it('accept a refund after they were removed', async () => {
    const subject = subjectWith({});
    const decision = await running.decide(subject, 5);
    await running.decide(subject, 2);
    await flushAndReap();
    expect(running.counters.size).toEqual(none);
    await running.refund(subject, decision);
    expect(await running.used(subject)).toMatchObject({ accountMonth: 2, keyMonth: 2 });
    await flushAndReap();
    expect(await running.used(subject)).toMatchObject({ accountMonth: 2, keyMonth: 2 });
  });

  it('of an account stay while one of its keys is used', async () => {
    const [quiet, busy] = [subjectWith({}), subjectWith({}, { keyId: 'key_2' })];
    await running.decide(quiet);
    await running.flush.flush();
    clock.advance(3 * MINUTE_MS);
    await running.decide(busy);
    sweep();
    expect(running.counters.size).toEqual(one);
    expect(await running.used(quiet)).toMatchObject({ accountMonth: 2, keyMonth: 1 });
  });

  it('come back even when they are removed in the same event loop turn in which they were read', async () => {
    const [months, rounds, subject] = [new FixedMonths(), new FlushProgress(), subjectWith({})];
    months.used = { account: 3, key: 3 };
    const counters = new ProcessCounters(clock, months, 'store', rounds);
    const used = async () =>
      countsByWindow((await counters.read(subject.accountId, subject.keyId, subject.calendar)).used);
    expect(await used()).toMatchObject({ accountMonth: 3, keyMonth: 3 });
    // Removes the counters in the event loop turn in which the database read ended.
    rounds.end(rounds.begin());
    clock.advance(3 * MINUTE_MS);
    counters.reapIdle();
    expect(counters.size).toEqual(none);
    expect(await used()).toMatchObject({ accountMonth: 3, keyMonth: 3 });
  });

  it('start at zero in another month', async () => {
    const subject = subjectWith({});
    await running.decide(subject, 9);
    await flushAndReap();
    clock.advance(15 * 24 * 60 * MINUTE_MS);
    expect(countsByWindow((await running.decide(subject)).used)).toMatchObject({ accountMonth: 1, keyMonth: 1 });
  });

  it('are removed in batches of 5,000 keys', async () => {
    for (let key = 0; key < 12_000; key++) await running.decide(subjectWith({}, { keyId: `key_${key}` }));
    await running.flush.flush();
    clock.advance(3 * MINUTE_MS);
    const left: number[] = [];
    for (let turn = 0; turn < 4; turn++) {
      sweep();
      left.push(running.counters.size.keys);
    }
    expect(left).toEqual([7_000, 2_000, 0, 0]);
  });

  it('are never removed from the local counters for Redis outages', async () => {
    const local = new ProcessCounters(clock, new FixedMonths(), 'local');
    await local.decide(subjectWith({}), 1);
    clock.advance(60 * MINUTE_MS);
    local.reapIdle();
    expect(local.size).toEqual(one);
  });

  it('decide as if they had never been removed, in random histories', async () => {
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ do: fc.constant('use' as const), key: fc.nat(3), cost: fc.integer({ min: 1, max: 4 }) }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('refund' as const), which: fc.nat(30) }) },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant('wait' as const),
          seconds: fc.constantFrom(1, 30, 61, 119, 121, 600, 90_000),
        }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('flush' as const) }) },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('sweep' as const) }) },
    );
    let forgotten = 0;
    const history = async (
      steps: readonly (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[],
      name: number,
    ) => {
      // Both use the same clock. One removes idle counters, and the other keeps all of them.
      const forgetful = new Process(database, clock);
      const model = new ProcessCounters(clock, new FixedMonths());
      const subjects = repeat(4, (key) =>
        subjectWith(
          { accountMonth: 40, keyMonth: 25, keyMinute: 12 },
          { accountId: `acc_${name}_${key % 2}`, keyId: `key_${name}_${key}` },
        ),
      );
      const answers: QuotaDecision[] = [];
      const expectedAnswers: QuotaDecision[] = [];
      const made: { subject: QuotaSubject; decision: QuotaDecision; expected: QuotaDecision }[] = [];
      for (const now of steps) {
        if (now.do === 'use') {
          const subject = subjects[now.key]!;
          const decision = await forgetful.decide(subject, now.cost);
          const expected = await model.decide(subject, now.cost);
          answers.push(decision);
          expectedAnswers.push(expected);
          if (decision.admitted) made.push({ subject, decision, expected });
        } else if (now.do === 'refund') {
          const [given] = made.splice(now.which % Math.max(1, made.length), 1);
          if (given === undefined) continue;
          await forgetful.refund(given.subject, given.decision);
          await model.refund(given.subject, given.expected);
        } else if (now.do === 'wait') clock.advance(now.seconds * 1_000);
        else if (now.do === 'flush') await forgetful.flush.flush();
        else {
          const before = forgetful.counters.size.keys;
          forgetful.counters.reapIdle();
          forgotten += before - forgetful.counters.size.keys;
        }
      }
      expect(answers).toEqual(expectedAnswers);
      for (const subject of subjects) {
        const { used } = await model.read(subject.accountId, subject.keyId, subject.calendar);
        expect(await forgetful.used(subject)).toEqual(countsByWindow(used));
      }
    };
    let name = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120 }), (steps) => history(steps, name++)),
      { numRuns: 80 },
    );
    expect(forgotten).toBeGreaterThan(50);
  });
});
