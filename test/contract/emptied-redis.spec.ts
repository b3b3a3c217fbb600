/**
 * Property test of several nodes on a Redis or a counting process that is emptied meanwhile, even again before all
 * nodes have noticed. Once each node has read its counters, a month and a day hold the cost that was admitted and not
 * refunded.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import type { QuotaDecision } from '../../src/quota/model/policies.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import { countingClient, startCounting } from '../support/counting.js';
import { CountingNode, type TestDatabase } from '../support/counting-node.js';
import { testDatabase } from '../support/database.js';
import { describeWithBoth } from '../support/describe-with.js';
import { announceHistories, HISTORIES_TIMEOUT_MS, RUNS } from '../support/histories.js';
import { subjectWith, UTC_MONTHS } from '../support/quotas.js';
import { emptyRedis } from '../support/timed-redis.js';
import { ACCOUNT_DAY, ACCOUNT_MONTH, KEY_DAY, KEY_MONTH } from '../../src/platform/quotas/windows.js';

const NODES = 3;
const KEYS = 2;

const node = fc.nat(NODES - 1);
const request = fc.record({ node, key: fc.nat(KEYS - 1), cost: fc.constantFrom(1, 1, 1, 2, 5) });
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('burst' as const), requests: fc.array(request, { maxLength: 20 }) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('empty' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('flush' as const), node }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('look' as const), node }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('give back' as const), which: fc.nat(100) }) },
);
/** `isAwaited`: the step must end before the next one begins. */
const steps = fc.array(fc.record({ step, isAwaited: fc.boolean() }), { minLength: 2, maxLength: 25 });
type Steps = typeof steps extends fc.Arbitrary<infer T> ? T : never;

let accounts = 0;

/** Test account on all nodes, and its expected usage. */
class History {
  private readonly accountId = `acc_${++accounts}`;
  private readonly subjects: QuotaSubject[][];
  private readonly admitted: { node: CountingNode; subject: QuotaSubject; decision: QuotaDecision }[] = [];
  private readonly used = [0, 0];
  private running: Promise<unknown>[] = [];

  constructor(
    private readonly nodes: readonly CountingNode[],
    private readonly empty: () => Promise<unknown>,
  ) {
    this.subjects = nodes.map(() =>
      [0, 1].map((key) => subjectWith({}, { accountId: this.accountId, keyId: this.keyId(key) })),
    );
  }

  async play(drawn: Steps): Promise<void> {
    for (const { step: each, isAwaited } of drawn) {
      if (each.do === 'burst') for (const of of each.requests) this.running.push(this.ask(of));
      else if (each.do === 'empty') this.running.push(this.empty());
      else if (each.do === 'flush') this.running.push(this.nodes[each.node]!.flush());
      else if (each.do === 'look') this.running.push(this.nodes[each.node]!.look());
      // Waits for other steps, because a refund in the same millisecond as the loss may have no effect.
      else await this.settled().then(() => this.refund(each.which));
      if (isAwaited) await this.settled();
      else await new Promise((resolve) => setImmediate(resolve));
    }
    await this.settled();
  }

  private async settled(): Promise<void> {
    const { running } = this;
    this.running = [];
    await Promise.all(running);
  }

  private async ask({ node: index, key, cost }: { node: number; key: number; cost: number }): Promise<void> {
    const of = this.nodes[index]!;
    const subject = this.subjects[index]![key]!;
    const decision = await of.limiter.decide(subject, cost);
    this.used[key]! += cost;
    this.admitted.push({ node: of, subject, decision });
  }

  private async refund(which: number): Promise<void> {
    const [made] = this.admitted.splice(which % Math.max(1, this.admitted.length), 1);
    if (made === undefined) return;
    await made.node.limiter.refund(made.subject, made.decision);
    this.used[made.subject.keyId === this.keyId(0) ? 0 : 1]! -= made.decision.cost;
  }

  /** Expects the counted usage. All nodes must have read the counters before. */
  async expectCounted(): Promise<void> {
    const [one, two] = this.used;
    for (const [key, keyMonth] of this.used.entries()) {
      const { used } = await this.nodes[0]!.counters.read(this.accountId, this.keyId(key), UTC_MONTHS);
      deepStrictEqual([used[ACCOUNT_MONTH], used[KEY_MONTH]], [one! + two!, keyMonth]);
      deepStrictEqual([used[ACCOUNT_DAY], used[KEY_DAY]], [one! + two!, keyMonth]);
    }
  }

  private keyId(key: number): string {
    return `${this.accountId}_${key}`;
  }
}

announceHistories('a Redis that is emptied');

interface EmptiedWorld {
  readonly database: TestDatabase;
  /** One connection per node. */
  readonly clients: readonly Redis[];
  empty(): Promise<unknown>;
  close(): Promise<void>;
}

describeWithBoth('nodes on a Redis that is emptied', () => {
  suite(async () => {
    const database = await testDatabase('postgres');
    const own = await emptyRedis();
    const clients = await Promise.all(Array.from({ length: NODES }, () => emptyRedis()));
    const close = async (): Promise<void> => {
      for (const client of [own, ...clients]) client.disconnect();
    };
    return { database, clients, empty: () => own.flushdb(), close };
  });
});

describe('nodes on a counting process that is replaced', () => {
  suite(async () => {
    const database = await testDatabase('sqlite');
    const counting = await startCounting();
    const clients = await Promise.all(Array.from({ length: NODES }, () => countingClient(counting.path)));
    const close = async (): Promise<void> => {
      for (const client of clients) client.disconnect();
      await counting.stop();
    };
    return { database, clients, empty: async () => counting.empty(), close };
  });
});

function suite(open: () => Promise<EmptiedWorld>): void {
  let world: EmptiedWorld;
  beforeAll(async () => {
    world = await open();
  });
  afterAll(async () => {
    await world.close();
    await world.database.close();
  });

  it('count usage once that a node flushed from a new counter before another node reports there', async () => {
    const [one, two] = world.clients.map((client) => new CountingNode(client, world.database));
    for (const each of [one!, two!]) await each.look();
    const accountId = `acc_${++accounts}`;
    const [first, second] = ['a', 'b'].map((key) => subjectWith({}, { accountId, keyId: `${accountId}_${key}` }));
    for (let request = 0; request < 5; request++) await one!.limiter.decide(first!, 1);
    await one!.look();
    await one!.flush();
    const { used } = await two!.limiter.decide(second!, 1);
    deepStrictEqual([used[ACCOUNT_MONTH], used[KEY_MONTH]], [6, 1]);
    deepStrictEqual([used[ACCOUNT_DAY], used[KEY_DAY]], [6, 1]);
  });

  it(
    'keep every month and day count while they run, however often the counters are lost',
    async () => {
      await fc.assert(
        fc.asyncProperty(steps, async (drawn) => {
          // Creates new nodes for each history. Old ones would report the accounts of all earlier histories.
          const nodes = world.clients.map((client) => new CountingNode(client, world.database));
          for (const each of nodes) await each.look();
          const history = new History(nodes, () => world.empty());
          await history.play(drawn);
          for (const each of nodes) await each.look();
          await history.expectCounted();
        }),
        RUNS,
      );
    },
    HISTORIES_TIMEOUT_MS,
  );
}
