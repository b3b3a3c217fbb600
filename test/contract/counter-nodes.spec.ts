/**
 * Property test of several nodes on one Redis that decide at the same time. Changed limits reach one node after the
 * other. Single requests get the decision of the model. Concurrent requests can be decided in any order. No request
 * exceeds a limit, refused requests would not have fitted, and the counts are the admitted cost without refunds.
 */
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { it } from '@jest/globals';
import fc from 'fast-check';
import type { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import { roomFor, type QuotaCounts, type QuotaDecision } from '../../src/quota/model/policies.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import { CounterModel, type Admitted } from '../support/counter-model.js';
import { describeWithRedis } from '../support/describe-with.js';
import { announceHistories, HISTORIES_TIMEOUT_MS, namedLimits, RUNS } from '../support/histories.js';
import { FixedMonths, type NamedCounts, NO_LIMITS, subjectWith, UTC_MONTHS } from '../support/quotas.js';
import { TestClock } from '../support/stores.js';
import { timedNodes } from '../support/timed-redis.js';
import { perWindow } from '../../src/platform/quotas/windows.js';

const MAX_NODES = 3;
const KEYS = ['key_1', 'key_2'];
const BEGIN_MS = Date.parse('2100-12-31T23:57:00Z');

interface Request {
  readonly node: number;
  readonly key: number;
  readonly cost: number;
}

type Step =
  | { readonly do: 'at once'; readonly requests: readonly Request[]; readonly refund: readonly number[] }
  | { readonly do: 'limits'; readonly node: number; readonly limits: NamedCounts }
  | { readonly do: 'wait'; readonly ms: number };

const limit = fc.oneof({ weight: 4, arbitrary: fc.nat(25) }, fc.constant(Infinity));
const limits = namedLimits(limit);
const node = fc.nat(MAX_NODES - 1);
const request = fc.record({ node, key: fc.nat(KEYS.length - 1), cost: fc.constantFrom(1, 1, 1, 2, 5) });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('at once' as const),
      requests: fc.oneof(fc.array(request, { minLength: 1, maxLength: 1 }), fc.array(request, { maxLength: 15 })),
      refund: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(fc.nat(30), { maxLength: 4 })),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.oneof(fc.nat(2_500), fc.nat(70_000)) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('limits' as const), node, limits }) },
);
const history = fc.record({
  nodes: fc.integer({ min: 2, max: MAX_NODES }),
  limits,
  steps: fc.array(step, { minLength: 1, maxLength: 25 }),
});
type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

interface Made {
  readonly entry: Admitted;
  readonly subject: QuotaSubject;
  readonly decision: QuotaDecision;
  readonly store: RedisCounters;
}

let account = 0;

/** Test account on several nodes, with its model. */
class Cluster {
  private readonly accountId = `acc_${++account}`;
  private readonly model = new CounterModel();
  private readonly subjects: QuotaSubject[][];
  private givable: Made[] = [];

  constructor(
    private readonly nodes: readonly RedisCounters[],
    private readonly clock: TestClock,
    first: NamedCounts,
  ) {
    this.subjects = nodes.map(() => this.subjectsOf(first));
  }

  setLimits(index: number, of: NamedCounts): void {
    this.subjects[index % this.nodes.length] = this.subjectsOf(of);
  }

  /** Sends requests and refunds concurrently, and checks the decisions and counts. */
  async atOnce(requests: readonly Request[], refund: readonly number[]): Promise<void> {
    const given = refund.flatMap((which) => this.givable.splice(which % Math.max(1, this.givable.length), 1));
    const asked = requests.map(({ node: index, key, cost }) => {
      const store = this.nodes[index % this.nodes.length]!;
      return { store, cost, subject: this.subjects[index % this.nodes.length]![key]! };
    });
    const before = KEYS.map((_, key) => this.model.used(this.keyId(key), this.clock.now()));
    const backs = given.map(({ store, subject, decision }) => store.refund(subject, decision));
    const decisions = await Promise.all(asked.map(({ store, subject, cost }) => store.decide(subject, cost)));
    await Promise.all(backs);
    for (const { entry } of given) this.model.refund(entry);
    const made = asked.map((each, index) => ({ ...each, decision: decisions[index]! }));
    for (const { store, subject, cost, decision } of made) {
      if (!decision.admitted) continue;
      const { entry } = this.model.decide(subject.keyId, NO_LIMITS, cost, this.clock.now());
      if (entry !== undefined) this.givable.push({ entry, subject, decision, store });
      // `used` includes this request. It must have fitted into the limits that its node knew.
      ok(roomFor(subject.limits, minus(decision.used, cost), cost) > 0);
    }
    await this.expectCounted();
    if (given.length === 0) this.expectJudged(made, before);
  }

  /** Checks the decisions of a step without refunds. Counts only grew, so a refused request must not fit now either. */
  private expectJudged(
    made: readonly { subject: QuotaSubject; cost: number; decision: QuotaDecision }[],
    before: readonly Readonly<QuotaCounts>[],
  ): void {
    for (const { subject, cost, decision } of made) {
      const now = this.model.used(subject.keyId, this.clock.now());
      if (!decision.admitted) strictEqual(roomFor(subject.limits, now, cost), 0);
      const alone = before[KEYS.findIndex((_, key) => this.keyId(key) === subject.keyId)]!;
      if (made.length === 1) strictEqual(decision.admitted, roomFor(subject.limits, alone, cost) > 0);
    }
  }

  /** Expects every node to read the cost that was admitted and not refunded. */
  private async expectCounted(): Promise<void> {
    for (const [key] of KEYS.entries()) {
      const keyId = this.keyId(key);
      for (const store of this.nodes) {
        const { used } = await store.read(this.accountId, keyId, UTC_MONTHS);
        deepStrictEqual(used, this.model.used(keyId, this.clock.now()));
      }
    }
  }

  private keyId(key: number): string {
    return `${this.accountId}_${KEYS[key]}`;
  }

  private subjectsOf(of: NamedCounts): QuotaSubject[] {
    return KEYS.map((_, key) => subjectWith(of, { accountId: this.accountId, keyId: this.keyId(key) }));
  }
}

function minus(used: Readonly<QuotaCounts>, cost: number): Readonly<QuotaCounts> {
  return perWindow((_, index) => used[index]! - cost);
}

async function play(nodes: readonly RedisCounters[], clock: TestClock, drawn: History): Promise<void> {
  clock.advance(BEGIN_MS - clock.now());
  const cluster = new Cluster(nodes.slice(0, drawn.nodes), clock, drawn.limits);
  for (const each of drawn.steps) {
    if (each.do === 'wait') clock.advance(each.ms);
    else if (each.do === 'limits') cluster.setLimits(each.node, each.limits);
    else await cluster.atOnce(each.requests, each.refund);
  }
}

announceHistories('several nodes on one Redis');

describeWithRedis('several nodes on one Redis', () => {
  it(
    'admit only requests that fit, refuse only others, and agree on the counts under concurrent load',
    async () => {
      const clock = new TestClock(BEGIN_MS);
      const { nodes, close } = await timedNodes(MAX_NODES, clock, new FixedMonths());
      try {
        await fc.assert(
          fc.asyncProperty(history, (drawn) => play(nodes, clock, drawn)),
          RUNS,
        );
      } finally {
        close();
      }
    },
    HISTORIES_TIMEOUT_MS,
  );
});
