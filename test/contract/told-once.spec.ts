/** Requests that wait for Redis to decide: whatever fails around them, each is told once, and goes on before the call that told it returns. */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { systemClock } from '../../src/platform/clock.js';
import { PASSING_SINK, type DecisionSink } from '../../src/quota/model/decision-sink.js';
import type { QuotaDecision } from '../../src/quota/model/policies.js';
import { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import type { Waiting } from '../../src/platform/waiting.js';
import { times } from '../support/counter-stores.js';
import { describeWithRedis } from '../support/describe-with.js';
import { eventually, sleep } from '../support/processes.js';
import { FixedMonths, subjectWith } from '../support/quotas.js';
import { emptyRedis, PATIENT_DEADLINE_MS } from '../support/timed-redis.js';
import { KEY_MINUTE } from '../../src/platform/quotas/windows.js';

/** A request: what it was told, and what it does then. */
class Request implements Waiting<QuotaDecision> {
  readonly told: (QuotaDecision | Error)[] = [];

  constructor(private readonly goOn: (decision: QuotaDecision | Error) => void = () => {}) {}

  answered(decision: QuotaDecision): void {
    this.told.push(decision);
    this.goOn(decision);
  }

  failed(error: unknown): void {
    this.told.push(error as Error);
    this.goOn(error as Error);
  }

  /** Returns the usage of its key including this request, by the decision. */
  get used(): number {
    const [first] = this.told;
    return first === undefined || first instanceof Error ? -1 : first.used[KEY_MINUTE];
  }
}

describeWithRedis('a request that waits for its decision', () => {
  let client: Awaited<ReturnType<typeof emptyRedis>>;
  let sink: { -readonly [Name in keyof DecisionSink]: DecisionSink[Name] };
  let counters: RedisCounters;
  let subject: QuotaSubject;
  let other: QuotaSubject;
  let sent: number;
  beforeEach(async () => {
    client = await emptyRedis();
    sink = { ...PASSING_SINK };
    counters = new RedisCounters(client, systemClock, new FixedMonths(), sink, PATIENT_DEADLINE_MS);
    [subject, other] = times(2, (index) => subjectWith({}, { accountId: `acc_${index}`, keyId: `key_${index}` })) as [
      QuotaSubject,
      QuotaSubject,
    ];
    for (const each of [subject, other]) await counters.decide(each, 1);
    sent = 0;
    const sendCommand = client.sendCommand.bind(client);
    jest.spyOn(client, 'sendCommand').mockImplementation((...call) => {
      sent += 1;
      return sendCommand(...call);
    });
  });
  afterEach(() => {
    jest.restoreAllMocks();
    if (client.status !== 'end') client.disconnect();
  });

  const ask = (request: Request, of = subject, cost = 1): Request => {
    counters.decideFor(request, of, cost);
    return request;
  };
  const allTold = async (requests: readonly Request[]): Promise<void> => {
    await eventually('all have been told', async () => requests.every(({ told }) => told.length > 0));
    // Whoever is told twice is so soon after.
    await sleep(20);
    expect(requests.map(({ told }) => told.length)).toEqual(requests.map(() => 1));
  };
  /** A call fails from now on before whoever sends it gets on. */
  const loseRedis = async (): Promise<void> => {
    client.disconnect();
    await once(client, 'end');
  };
  const usedOf = (requests: readonly Request[]) => requests.map(({ used }) => used);

  it('is told once, in its turn, and not before it has asked', async () => {
    const requests = times(40, (index) => ask(new Request(), index % 2 === 0 ? subject : other));
    expect(requests.flatMap(({ told }) => told)).toEqual([]);
    await allTold(requests);
    expect(usedOf(requests)).toEqual(times(40, (index) => 2 + Math.floor(index / 2)));
    expect(sent).toBe(1);
  });

  it('may throw when it is told: the others are told, and the next are decided', async () => {
    const thrown: (() => void)[] = [];
    jest.spyOn(globalThis, 'queueMicrotask').mockImplementation((callback) => void thrown.push(callback));
    const fault = new Error('a fault of its own');
    const throwing = () => {
      throw fault;
    };
    const requests = times(9, (index) =>
      ask(new Request(index % 3 === 1 ? throwing : undefined), index < 6 ? subject : other),
    );
    await allTold(requests);
    expect(usedOf(requests)).toEqual([2, 3, 4, 5, 6, 7, 2, 3, 4]);
    expect(thrown).toHaveLength(3);
    for (const each of thrown) expect(each).toThrow(fault);

    const next = ask(new Request());
    await allTold([next]);
    expect(next.used).toBe(8);
  });

  it('may ask again when it is told: that gathers for a later call, and nobody else finds other numbers', async () => {
    const again: Request[] = [];
    const asking = () => {
      for (const each of [subject, other]) again.push(ask(new Request(), each));
      expect(again.flatMap(({ told }) => told)).toEqual([]);
    };
    const requests = times(6, (index) => ask(new Request(asking), index % 2 === 0 ? subject : other));
    await allTold(requests);
    await allTold(again);
    expect(usedOf(requests)).toEqual([2, 2, 3, 3, 4, 4]);
    expect(usedOf(again)).toEqual([5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10]);
    expect(sent).toBe(2);
  });

  it('goes on when those behind it have been sent already: Redis works meanwhile', async () => {
    const sentWhenTold: number[] = [];
    const first = ask(new Request(() => sentWhenTold.push(sent)));
    // Sent at the end of this turn; its answer takes another one at least.
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toBe(1);
    const behind = ask(new Request(() => sentWhenTold.push(sent)));
    await allTold([first, behind]);
    expect(sentWhenTold).toEqual([2, 2]);
  });

  it('is the only one refused where its decision cannot be noted', async () => {
    const fault = new Error('not noted');
    sink.onDecision = (_subject, decision) => {
      if (decision.used[KEY_MINUTE] === 3) throw fault;
      return decision;
    };
    const failed = jest.spyOn(sink, 'onFailure');
    const requests = times(3, () => ask(new Request()));
    await allTold(requests);
    expect(requests.map(({ told, used }) => (told[0] === fault ? fault : used))).toEqual([2, fault, 4]);
    // Redis has counted it, and must not be made good for.
    expect(failed).not.toHaveBeenCalled();
  });

  it.each([
    ['a decision that is there', (instead: QuotaDecision): QuotaDecision | Promise<QuotaDecision> => instead],
    ['a decision that comes later', async (instead: QuotaDecision) => instead],
  ])('is told %s in the place of one that failed, once, and may ask again', async (_what, insteadOf) => {
    const instead = await counters.decide(subject, 1);
    sink.onFailure = () => insteadOf(instead);
    await loseRedis();
    const again: Request[] = [];
    const requests = [
      ask(new Request(() => void again.push(ask(new Request())))),
      ask(new Request(() => void again.push(ask(new Request(), other)))),
      ask(new Request(), other),
    ];
    await allTold(requests);
    await allTold(again);
    expect([...requests, ...again].map(({ told }) => told)).toEqual(times(5, () => [instead]));
  });

  it('may throw when it is told what takes the place of a decision: the others are told', async () => {
    const thrown: (() => void)[] = [];
    jest.spyOn(globalThis, 'queueMicrotask').mockImplementation((callback) => void thrown.push(callback));
    const instead = await counters.decide(subject, 1);
    sink.onFailure = () => instead;
    await loseRedis();
    const throwing = () => {
      throw new Error('a fault of its own');
    };
    const requests = [ask(new Request(throwing)), ask(new Request()), ask(new Request(throwing), other)];
    await allTold(requests);
    expect(requests.map(({ told }) => told)).toEqual(times(3, () => [instead]));
    expect(thrown).toHaveLength(2);
  });

  it('is told the error once where nothing takes the place of a decision, and so is a promise', async () => {
    const thrown: (() => void)[] = [];
    jest.spyOn(globalThis, 'queueMicrotask').mockImplementation((callback) => void thrown.push(callback));
    const refusal = new Error('closed');
    sink.onFailure = () => {
      throw refusal;
    };
    await loseRedis();
    const throwing = () => {
      throw new Error('a fault of its own');
    };
    const requests = [ask(new Request(throwing)), ask(new Request()), ask(new Request(), other)];
    await expect(counters.decide(subject, 1)).rejects.toBe(refusal);
    await allTold(requests);
    expect(requests.map(({ told }) => told)).toEqual(times(3, () => [refusal]));
    expect(thrown).toHaveLength(1);
  });
});
