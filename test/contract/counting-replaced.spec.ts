/**
 * A replaced counting process grants no month limit twice. It decides nothing before every node has reported its
 * counts. Random histories of several nodes replace the process during bursts, sometimes again before all nodes have
 * reported.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import { openRedisQuotas } from '../../src/quota/open-quotas.js';
import { NodeCount } from '../../src/quota/redis/node-count.js';
import { SEED_LUA } from '../../src/quota/redis/scripts/seed.js';
import { systemClock } from '../../src/platform/clock.js';
import { countingClient, startCounting, type Counting } from '../support/counting.js';
import { CountingNode, type TestDatabase } from '../support/counting-node.js';
import { testDatabase } from '../support/database.js';
import { announceHistories, HISTORIES_TIMEOUT_MS, RUNS } from '../support/histories.js';
import { eventually } from '../support/processes.js';
import { subjectWith, UTC_MONTHS } from '../support/quotas.js';

const NODES = 3;
const KEYS = 2;
const LIMIT = 60;

announceHistories('a counting process that is replaced');

const node = fc.nat(NODES - 1);
const request = fc.record({ node, key: fc.nat(KEYS - 1), cost: fc.constantFrom(1, 1, 1, 2, 5) });
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('burst' as const), requests: fc.array(request, { maxLength: 20 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('replace' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('flush' as const), node }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('look' as const), node }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('look too late' as const), node }) },
);
/** `isAwaited`: the step must end before the next one begins. */
const steps = fc.array(fc.record({ step, isAwaited: fc.boolean() }), { minLength: 4, maxLength: 25 });
type Steps = typeof steps extends fc.Arbitrary<infer T> ? T : never;

let accounts = 0;

/** Test account on all nodes, and the cost that was admitted for it. */
class History {
  admitted = 0;
  private readonly accountId = `acc_${++accounts}`;
  private readonly subjects: QuotaSubject[][];
  private running: Promise<unknown>[] = [];

  constructor(
    private readonly nodes: readonly CountingNode[],
    private readonly counting: Counting,
  ) {
    this.subjects = nodes.map(() =>
      Array.from({ length: KEYS }, (_, key) =>
        subjectWith({ accountMonth: LIMIT }, { accountId: this.accountId, keyId: `${this.accountId}_${key}` }),
      ),
    );
  }

  async play(drawn: Steps): Promise<void> {
    for (const { step: each, isAwaited } of drawn) {
      if (each.do === 'burst') for (const of of each.requests) this.running.push(this.ask(of.node, of.key, of.cost));
      else if (each.do === 'replace') this.counting.empty(NODES);
      else if (each.do === 'flush') this.running.push(this.nodes[each.node]!.flush());
      else if (each.do === 'look') this.running.push(this.nodes[each.node]!.look());
      else this.running.push(this.nodes[each.node]!.lookTooLate());
      if (isAwaited) await this.settle();
    }
    await this.settle();
  }

  /** Uses up the limit, after all nodes have read the counters as they do every second. */
  async useUp(): Promise<void> {
    await eventually('every node counts', async () => {
      for (const each of this.nodes) await each.look();
      return (await Promise.all(this.nodes.map((each) => each.counters.refundUnanswered()))).every(Boolean);
    });
    for (const index of this.nodes.keys()) {
      for (let count = 0; count <= LIMIT; count++) this.running.push(this.ask(index, count % KEYS, 1));
    }
    await this.settle();
  }

  private async ask(index: number, key: number, cost: number): Promise<void> {
    // A request whose decision failed was not admitted.
    const decided = Promise.resolve(this.nodes[index]!.limiter.decide(this.subjects[index]![key]!, cost));
    const decision = await decided.catch(() => undefined);
    if (decision?.admitted === true) this.admitted += cost;
  }

  private async settle(): Promise<void> {
    const { running } = this;
    this.running = [];
    await Promise.all(running);
  }
}

/** Returns a function that sends requests of one key concurrently and returns how many were admitted. */
function bursts(): (at: CountingNode, count: number) => Promise<number> {
  const of = { accountId: `acc_${++accounts}`, keyId: `key_${accounts}` };
  return async (at, count) => {
    const subject = subjectWith({ accountMonth: LIMIT }, of);
    const decided = Array.from({ length: count }, () => Promise.resolve(at.limiter.decide(subject, 1)));
    return (await Promise.all(decided)).filter(({ admitted }) => admitted).length;
  };
}

describe('a replacement counting process', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase('sqlite');
  });
  afterAll(() => database.close());

  let counting: Counting;
  let clients: Redis[];
  beforeEach(async () => {
    counting = await startCounting();
    clients = await Promise.all(Array.from({ length: NODES }, () => countingClient(counting.path)));
  });
  afterEach(async () => {
    for (const client of clients) client.disconnect();
    await counting.stop();
  });

  it('decides only after all awaited nodes have reported, and counts each node once', async () => {
    counting.empty(2);
    const [one, two] = clients.map((client) => new NodeCount(client, true));
    const isOpen = async (): Promise<boolean> => (await clients[2]!.set('tg:probe', '').catch(() => '')) === 'OK';
    const { epoch = 0 } = (await one!.sendHeartbeat()) ?? {};
    for (const each of [one!, two!]) {
      // A report for the previous epoch does not count.
      await each.sendHeartbeat(epoch - 1);
      expect([each.isAwaited, await isOpen()]).toEqual([true, false]);
    }
    for (const each of [one!, one!]) await each.sendHeartbeat(epoch);
    expect([one!.isAwaited, await isOpen()]).toEqual([true, false]);
    await two!.sendHeartbeat(epoch);
    expect([two!.isAwaited, await isOpen()]).toEqual([false, true]);
  });

  it('continues from the highest count that any node knows, whichever node asks first', async () => {
    const [first, second, third] = clients.map((client) => new CountingNode(client, database));
    for (const each of [first!, second!, third!]) await each.look();
    const burst = bursts();
    expect(await burst(first!, 20)).toBe(20);
    expect(await burst(second!, 30)).toBe(30);
    counting.empty(NODES);
    await first!.look();
    await expect(burst(first!, 1)).rejects.toThrow('AWAITING');
    for (const each of [second!, third!]) await each.look();
    await eventually('the first node has refunded its unanswered calls', () => first!.counters.refundUnanswered());
    expect(await burst(first!, 60)).toBe(10);
  });

  it('rejects reading and setting a count before all nodes have reported', async () => {
    const [first, second] = clients.map((client) => new CountingNode(client, database));
    for (const each of [first!, second!]) await each.look();
    const of = { accountId: `acc_${++accounts}`, keyId: `key_${accounts}` };
    await second!.limiter.decide(subjectWith({}, of), 50);
    counting.empty(2);
    await first!.look();
    const operator = first!.counters;
    await expect(operator.read(of.accountId, undefined, UTC_MONTHS)).rejects.toThrow('AWAITING');
    await expect(operator.setMonthUsed(of.accountId, undefined, UTC_MONTHS, 5)).rejects.toThrow('AWAITING');
    await second!.look();
    expect(await operator.setMonthUsed(of.accountId, undefined, UTC_MONTHS, 5)).toMatchObject({ before: 50, used: 5 });
  });

  it('also waits for a node that missed its first reply', async () => {
    const [first, second] = clients.map((client) => new CountingNode(client, database));
    for (const each of [first!, second!]) await each.look();
    const burst = bursts();
    // The second node has seen 30 requests, and only the first one all 50.
    expect(await burst(second!, 30)).toBe(30);
    expect(await burst(first!, 20)).toBe(20);
    counting.empty(2);
    await first!.lookTooLate();
    for (const each of [second!, first!, second!]) await each.look();
    await eventually('both nodes have refunded their unanswered calls', async () =>
      (await Promise.all([first!, second!].map((each) => each.counters.refundUnanswered()))).every(Boolean),
    );
    expect(await burst(second!, 60)).toBe(10);
  });

  it('gets a failed report again, even while it decides no requests', async () => {
    const parts = { db: database.db, kind: database.kind, clock: systemClock, log: pino({ level: 'silent' }) };
    const nodes = [await openRedisQuotas(parts, counting.path), await openRedisQuotas(parts, counting.path)];
    try {
      const of = { accountId: `acc_${++accounts}`, keyId: `key_${accounts}` };
      const subjects = nodes.map(() => subjectWith({ accountMonth: LIMIT }, { ...of, onStoreLoss: 'closed' }));
      const ask = async (at: number): Promise<string> => {
        try {
          return (await nodes[at]!.limiter.decide(subjects[at]!, 1)).admitted ? 'admitted' : 'refused';
        } catch {
          return 'undecided';
        }
      };
      for (let count = 0; count < LIMIT; count++) expect(await ask(count % 2)).toBe('admitted');
      counting.fail(SEED_LUA);
      counting.empty(2);
      await eventually('both nodes report that the store is down', async () => {
        for (const [at] of nodes.entries()) await ask(at);
        return nodes.every(({ limiter }) => !limiter.storeUp);
      });
      counting.fail();
      await eventually(
        'both nodes decide again',
        async () => (await ask(0)) === 'refused' && (await ask(1)) === 'refused',
      );
    } finally {
      for (const each of nodes) await each.stop();
    }
  });

  it(
    'admits exactly the month limit, whenever it is replaced',
    async () => {
      // Uses fewer runs, because each run waits until no earlier call can still take effect.
      const runs = { ...RUNS, numRuns: Math.ceil(RUNS.numRuns / 4) };
      await fc.assert(
        fc.asyncProperty(steps, async (drawn) => {
          counting.empty();
          const nodes = clients.map((client) => new CountingNode(client, database));
          for (const each of nodes) await each.look();
          const history = new History(nodes, counting);
          await history.play(drawn);
          expect(history.admitted).toBeLessThanOrEqual(LIMIT);
          await history.useUp();
          expect(history.admitted).toBe(LIMIT);
        }),
        runs,
      );
    },
    HISTORIES_TIMEOUT_MS,
  );
});
