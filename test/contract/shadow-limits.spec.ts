/**
 * Shadow limits decide on their own counters about requests that the live limits admitted. They affect no request.
 * TRAILGATE_TEST_HISTORIES and TRAILGATE_TEST_SEED work as in `counter-histories.spec.ts`.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { beforeEach, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { METRICS } from '../../src/platform/metrics.js';
import { policyNames, type QuotaDecision } from '../../src/quota/model/policies.js';
import { QuotaSubject, QuotaTerms, ShadowSubject } from '../../src/quota/model/subject.js';
import { FlushProgress } from '../../src/quota/model/flush-progress.js';
import { ProcessCounters } from '../../src/quota/process/process-counters.js';
import { ShadowLimits } from '../../src/quota/shadow-limits.js';
import { CounterModel, type Admitted } from '../support/counter-model.js';
import { describeCounterStores, START_MS, type StoreUnderTest } from '../support/counter-stores.js';
import { announceHistories, HISTORIES_TIMEOUT_MS, RUNS } from '../support/histories.js';
import {
  countsWith,
  FixedMonths,
  limitsWith,
  countsByWindow,
  type NamedCounts,
  UTC_MONTHS,
} from '../support/quotas.js';
import { TestClock } from '../support/stores.js';
import { ACCOUNT_MONTH, KEY_MONTH } from '../../src/platform/quotas/windows.js';

announceHistories('shadow limits');

const BEGINNINGS = ['2100-11-20T10:00:00Z', '2100-12-31T23:59:20Z'].map((text) => Date.parse(text));
const KEYS = ['key_1', 'key_2'];

function shadowed(live: Partial<NamedCounts>, shadow: Partial<NamedCounts>, keyId = 'key_1', accountId = 'acc_1') {
  const terms = (some: Partial<NamedCounts>): QuotaTerms => new QuotaTerms(limitsWith(some), 'local', UTC_MONTHS);
  const candidate = new ShadowSubject(accountId, keyId, 'tried', terms(shadow));
  return { candidate, subject: new QuotaSubject(accountId, keyId, terms(live), candidate) };
}

const limit = fc.oneof({ weight: 4, arbitrary: fc.nat(12) }, fc.constantFrom(Infinity, 30));
const limits = fc.record({ keyMinute: limit, accountMinute: limit, accountMonth: limit, keyMonth: limit });
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('request' as const),
      key: fc.nat(KEYS.length - 1),
      cost: fc.constantFrom(1, 1, 2, 5),
      count: fc.constantFrom(1, 1, 3),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.oneof(fc.nat(3_000), fc.nat(70_000)) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('give back' as const), which: fc.nat(20) }) },
);
const history = fc.record({
  beginMs: fc.constantFrom(...BEGINNINGS),
  live: limits,
  candidate: limits,
  steps: fc.array(step, { minLength: 1, maxLength: 40 }),
});
type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

let account = 0;

/**
 * Plays a history. Expects shadow decisions like those of a model with the shadow limits that gets the admitted
 * requests.
 */
async function play(under: StoreUnderTest, shadows: ShadowLimits, drawn: History): Promise<void> {
  const accountId = `acc_${++account}`;
  const subjects = KEYS.map((key) => shadowed(drawn.live, drawn.candidate, `${accountId}_${key}`, accountId));
  const [live, model] = [new CounterModel(), new CounterModel()];
  const givable: { of: number; decision: QuotaDecision; entries: [CounterModel, Admitted | undefined][] }[] = [];
  under.at(drawn.beginMs);
  for (const each of drawn.steps) {
    if (each.do === 'wait') {
      under.clock.advance(each.ms);
    } else if (each.do === 'give back') {
      const [given] = givable.splice(each.which % Math.max(1, givable.length), 1);
      if (given === undefined) continue;
      const { subject, candidate } = subjects[given.of]!;
      await Promise.all([
        under.store.refund(subject, given.decision),
        shadows.refund(under.store, candidate, given.decision),
      ]);
      for (const [of, entry] of given.entries) if (entry !== undefined) of.refund(entry);
    } else {
      const { subject, candidate } = subjects[each.key]!;
      for (const decision of await under.decideAll(subject, each.count, each.cost)) {
        const { entry } = live.decide(subject.keyId, subject.limits, each.cost, under.clock.now());
        deepStrictEqual(decision.admitted, entry !== undefined);
        if (!decision.admitted) continue;
        shadows.decideShadow(under.store, candidate, decision);
        const foretold = model.decide(subject.keyId, candidate.limits, each.cost, under.clock.now());
        givable.push({
          of: each.key,
          decision,
          entries: [
            [live, entry],
            [model, foretold.entry],
          ],
        });
        const { admitted, violated, used } = (await decision.shadow)!;
        const { expected } = foretold;
        deepStrictEqual([admitted, violated, used], [expected.admitted, expected.violated, expected.used]);
      }
    }
  }
}

describeCounterStores((current) => {
  let under: StoreUnderTest;
  let shadows: ShadowLimits;
  beforeEach(() => {
    under = current();
    shadows = new ShadowLimits(under.clock, false);
  });

  /** Returns the live decision and the shadow decision of a request. */
  async function decideBoth(
    subject: QuotaSubject,
    cost = 1,
  ): Promise<{ live: boolean; shadow: boolean; violated: string }> {
    const live = await under.decide(subject, cost);
    if (live.admitted) shadows.decideShadow(under.store, subject.shadow!, live);
    const shadow = await live.shadow;
    return {
      live: live.admitted,
      shadow: shadow?.admitted ?? false,
      violated: policyNames(shadow?.violated ?? 0).join(),
    };
  }

  it(
    'make shadow decisions in random histories as a model that gets the admitted requests',
    () =>
      fc.assert(
        fc.asyncProperty(history, (drawn) => play(under, shadows, drawn)),
        RUNS,
      ),
    HISTORIES_TIMEOUT_MS,
  );

  it('refuse no request because of shadow limits, and do not count them in the live counts', async () => {
    const { subject } = shadowed({ keyMinute: 5 }, { keyMinute: 2 });
    const seen = [];
    for (let request = 0; request < 7; request++) seen.push(await decideBoth(subject));
    expect(seen.map(({ live }) => live)).toEqual([true, true, true, true, true, false, false]);
    expect(seen.map(({ shadow }) => shadow)).toEqual([true, true, false, false, false, false, false]);
    expect(seen[2]!.violated).toBe('key-minute');
    expect((await under.usedBy(subject)).keyMinute).toBe(5);
  });

  it('let a shadow minute admit its limit in each 61 seconds, however busy the live one is', async () => {
    const { subject } = shadowed({ keyMinute: 1_000 }, { keyMinute: 10 });
    let admitted = 0;
    // Sends one request a second for five minutes. A shadow limit of 10 a minute would admit 10 in each 61 seconds.
    for (let second = 0; second < 305; second++) {
      if ((await decideBoth(subject)).shadow) admitted += 1;
      under.clock.advance(1_000);
    }
    expect(admitted).toBe(50);
  });

  it('start the shadow month at the live count, without another database read', async () => {
    under.months.used = { account: 90, key: 40 };
    const { subject, candidate } = shadowed({ accountMonth: 1_000 }, { accountMonth: 92, keyMonth: 1_000 });
    const asked = under.months.asked.length;
    const seen = [];
    for (let request = 0; request < 4; request++) seen.push((await decideBoth(subject)).shadow);
    expect(seen).toEqual([true, true, false, false]);
    const live = await under.usedBy(subject);
    expect(live).toMatchObject({ accountMonth: 94, keyMonth: 44 });
    const { used } = await under.store.readShadow('acc_1', 'key_1', UTC_MONTHS, countsWith(live));
    expect(countsByWindow(used)).toMatchObject({ accountMonth: 92, keyMonth: 42, keyMinute: 2 });
    expect(candidate.limits[ACCOUNT_MONTH]).toBe(92);
    expect(under.months.asked.length - asked).toBe(1);
  });

  it('start the shadow month at the count before a burst of requests', async () => {
    under.months.used = { account: 90, key: 90 };
    const { subject } = shadowed({ accountMonth: 1_000 }, { accountMonth: 93 });
    const decisions = await under.decideAll(subject, 10);
    for (const decision of decisions) shadows.decideShadow(under.store, subject.shadow!, decision);
    const made = await Promise.all(decisions.map(({ shadow }) => shadow));
    expect(made.filter((decision) => decision?.admitted)).toHaveLength(3);
  });

  it('return the live month and day for shadow limits without a decision yet', async () => {
    const { used } = await under.store.readShadow(
      'acc_9',
      'key_9',
      UTC_MONTHS,
      countsWith({
        keyMinute: 3,
        accountMinute: 4,
        accountMonth: 50,
        keyMonth: 20,
        accountDay: 9,
        keyDay: 8,
      }),
    );
    const inDay = { accountDay: 9, keyDay: 8 };
    expect(countsByWindow(used)).toEqual({ keyMinute: 0, accountMinute: 0, accountMonth: 50, keyMonth: 20, ...inDay });
  });

  it('repeat a known shadow refusal without a store call, and forget it after a refund', async () => {
    const remembering = new ShadowLimits(under.clock, true);
    const { subject } = shadowed({}, { keyMinute: 1 });
    const judgeWith = async (): Promise<QuotaDecision> => {
      const live = await under.decide(subject);
      remembering.decideShadow(under.store, subject.shadow!, live);
      await live.shadow;
      return live;
    };
    const first = await judgeWith();
    await judgeWith();
    const refusedBefore = METRICS.quotaShadowDecisions.series('tried', 'refused', 'key-minute').value;
    expect((await judgeWith()).shadow).toMatchObject({ admitted: false }); // known, so available at once
    expect(METRICS.quotaShadowDecisions.series('tried', 'refused', 'key-minute').value).toBe(refusedBefore + 1);
    await remembering.refund(under.store, subject.shadow!, first);
    expect(await (await judgeWith()).shadow).toMatchObject({ admitted: true });
  });

  it('leave a request unaffected when the shadow store fails, and count the failure', async () => {
    const { subject } = shadowed({}, { keyMinute: 1 });
    const live = await under.decide(subject);
    const away = { ...under.store, decide: () => Promise.reject(new Error('away')) } as typeof under.store;
    const failing = new ShadowLimits(under.clock, true);
    const before = METRICS.quotaShadowDecisions.series('tried', 'failed', '').value;
    failing.decideShadow(away, subject.shadow!, live);
    expect(await live.shadow).toBeUndefined();
    await failing.refund(away, subject.shadow!, live);
    expect(METRICS.quotaShadowDecisions.series('tried', 'failed', '').value).toBe(before + 1);
  });
});

it('counters in the process: a shadow month of its own survives the removal of idle counters', async () => {
  const clock = new TestClock(START_MS);
  const rounds = new FlushProgress();
  const counters = new ProcessCounters(clock, new FixedMonths(), 'store', rounds);
  const shadows = new ShadowLimits(clock, false);
  const { subject } = shadowed({}, { keyMinute: 1 });
  for (let request = 0; request < 5; request++)
    shadows.decideShadow(counters, subject.shadow!, await counters.decide(subject, 1));
  const live = countsWith({ accountMonth: 5, keyMonth: 5 });
  const shadowMonth = async () => (await counters.readShadow('acc_1', 'key_1', UTC_MONTHS, live)).used[KEY_MONTH];
  rounds.end(rounds.begin());
  clock.advance(10 * 60_000);
  counters.reapIdle();
  expect(counters.size).toEqual({ accounts: 1, keys: 1 });
  expect(await shadowMonth()).toBe(1);
  clock.advance(40 * 86_400_000);
  counters.reapIdle();
  expect(counters.size).toEqual({ accounts: 0, keys: 0 });
});
