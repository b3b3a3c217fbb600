/** Runs a contract test suite on every kind of counter store, each with a test clock. */
import { afterAll, afterEach, beforeAll, beforeEach, describe } from '@jest/globals';
import type { CounterStore } from '../../src/quota/model/counter-store.js';
import type { QuotaDecision } from '../../src/quota/model/policies.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import { ProcessCounters } from '../../src/quota/process/process-counters.js';
import { describeWithOwnRedis, describeWithRedis } from './describe-with.js';
import { timedCounting } from './counting.js';
import { FixedMonths, countsByWindow, type NamedCounts } from './quotas.js';
import { TestClock } from './stores.js';
import { startCluster, type ClusterGroup } from './redis-groups.js';
import { timedClusterCounters, timedRedisCounters } from './timed-redis.js';

/** Start of the test clock. It is far ahead of the real time, by which Redis expires its keys. */
export const START_MS = Date.parse('2100-11-20T10:00:00.250Z');

/** StoreUnderTest holds the objects of a contract test. Each test gets a new one. */
export class StoreUnderTest {
  readonly clock = new TestClock(START_MS);
  readonly months = new FixedMonths();
  store!: CounterStore;

  async decide(subject: QuotaSubject, cost = 1): Promise<QuotaDecision> {
    return this.store.decide(subject, cost);
  }

  /** Decides `count` requests one after the other. */
  async decideEach(subject: QuotaSubject, count: number, cost = 1): Promise<QuotaDecision[]> {
    const decisions: QuotaDecision[] = [];
    for (let request = 0; request < count; request++) decisions.push(await this.store.decide(subject, cost));
    return decisions;
  }

  /** Decides `count` requests at the same time. */
  decideAll(subject: QuotaSubject, count: number, cost = 1): Promise<QuotaDecision[]> {
    return Promise.all(repeat(count, () => this.store.decide(subject, cost)));
  }

  async usedBy(subject: QuotaSubject): Promise<NamedCounts> {
    return countsByWindow((await this.store.read(subject.accountId, subject.keyId, subject.calendar)).used);
  }

  /** Sets the clock to a time, which may be earlier than the current one. */
  at(ms: number): void {
    this.clock.advance(ms - this.clock.now());
  }
}

/** Runs a suite on counters in this process, in the counting process, in a real Redis and in a real Redis Cluster. */
export function describeCounterStores(suite: (under: () => StoreUnderTest) => void): void {
  describe('counters in the process', () => {
    let under: StoreUnderTest;
    beforeEach(() => {
      under = new StoreUnderTest();
      under.store = new ProcessCounters(under.clock, under.months);
    });
    suite(() => under);
  });

  describe('counters in the counting process', () => {
    let under: StoreUnderTest;
    let close = async (): Promise<void> => {};
    beforeEach(async () => {
      under = new StoreUnderTest();
      const opened = await timedCounting(under.clock, under.months);
      under.store = opened.counters;
      ({ close } = opened);
    });
    afterEach(() => close());
    suite(() => under);
  });

  describeWithRedis('counters in Redis', () => {
    let under: StoreUnderTest;
    let close = (): void => {};
    beforeEach(async () => {
      under = new StoreUnderTest();
      const opened = await timedRedisCounters(under.clock, under.months);
      under.store = opened.counters;
      ({ close } = opened);
    });
    afterEach(() => close());
    suite(() => under);
  });

  describeWithOwnRedis('counters in a Redis Cluster', () => {
    let cluster: ClusterGroup;
    let under: StoreUnderTest;
    let close = (): void => {};
    beforeAll(async () => {
      cluster = await startCluster();
    }, 30_000);
    afterAll(() => cluster.stop());
    beforeEach(async () => {
      under = new StoreUnderTest();
      const opened = await timedClusterCounters(cluster, under.clock, under.months);
      under.store = opened.counters;
      ({ close } = opened);
    });
    afterEach(() => close());
    suite(() => under);
  });
}

export function repeat<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

export function admittedOf(decisions: readonly QuotaDecision[]): number {
  return decisions.filter(({ admitted }) => admitted).length;
}
