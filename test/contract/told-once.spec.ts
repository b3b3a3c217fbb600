/** Requests that wait for a decision of Redis get exactly one decision or error, whatever fails. */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { systemClock } from '../../src/platform/clock.js';
import { PASSING_SINK, type DecisionSink } from '../../src/quota/model/decision-sink.js';
import type { QuotaDecision } from '../../src/quota/model/policies.js';
import { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import type { ResultReceiver } from '../../src/platform/callbacks.js';
import { repeat } from '../support/counter-stores.js';
import { describeWithRedis } from '../support/describe-with.js';
import { eventually, sleep } from '../support/processes.js';
import { FixedMonths, subjectWith } from '../support/quotas.js';
import { emptyRedis, PATIENT_DEADLINE_MS } from '../support/timed-redis.js';
import { KEY_MINUTE } from '../../src/platform/quotas/windows.js';

/** Waiting request that records its results and then calls back. */
class Request implements ResultReceiver<QuotaDecision> {
  readonly results: (QuotaDecision | Error)[] = [];

  constructor(private readonly callback: (decision: QuotaDecision | Error) => void = () => {}) {}

  onResult(decision: QuotaDecision): void {
    this.results.push(decision);
    this.callback(decision);
  }

  onError(error: unknown): void {
    this.results.push(error as Error);
    this.callback(error as Error);
  }

  /** Returns the usage of its key including this request, or -1 without a decision. */
  get used(): number {
    const [first] = this.results;
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
    [subject, other] = repeat(2, (index) => subjectWith({}, { accountId: `acc_${index}`, keyId: `key_${index}` })) as [
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
  const allSettled = async (requests: readonly Request[]): Promise<void> => {
    await eventually('all requests have a result', async () => requests.every(({ results }) => results.length > 0));
    // A second result would arrive within this time.
    await sleep(20);
    expect(requests.map(({ results }) => results.length)).toEqual(requests.map(() => 1));
  };
  /** Disconnects, so that every later call fails at once. */
  const loseRedis = async (): Promise<void> => {
    client.disconnect();
    await once(client, 'end');
  };
  const usedOf = (requests: readonly Request[]) => requests.map(({ used }) => used);

  it('gets its decision once, in order and not synchronously', async () => {
    const requests = repeat(40, (index) => ask(new Request(), index % 2 === 0 ? subject : other));
    expect(requests.flatMap(({ results }) => results)).toEqual([]);
    await allSettled(requests);
    expect(usedOf(requests)).toEqual(repeat(40, (index) => 2 + Math.floor(index / 2)));
    expect(sent).toBe(1);
  });

  it('may throw in its callback: other requests get decisions, and so do later ones', async () => {
    const thrown: (() => void)[] = [];
    jest.spyOn(globalThis, 'queueMicrotask').mockImplementation((callback) => void thrown.push(callback));
    const fault = new Error('a fault of its own');
    const throwing = () => {
      throw fault;
    };
    const requests = repeat(9, (index) =>
      ask(new Request(index % 3 === 1 ? throwing : undefined), index < 6 ? subject : other),
    );
    await allSettled(requests);
    expect(usedOf(requests)).toEqual([2, 3, 4, 5, 6, 7, 2, 3, 4]);
    expect(thrown).toHaveLength(3);
    for (const each of thrown) expect(each).toThrow(fault);

    const next = ask(new Request());
    await allSettled([next]);
    expect(next.used).toBe(8);
  });

  it('may send requests in its callback: they join a later batch, and other counts stay the same', async () => {
    const again: Request[] = [];
    const asking = () => {
      for (const each of [subject, other]) again.push(ask(new Request(), each));
      expect(again.flatMap(({ results }) => results)).toEqual([]);
    };
    const requests = repeat(6, (index) => ask(new Request(asking), index % 2 === 0 ? subject : other));
    await allSettled(requests);
    await allSettled(again);
    expect(usedOf(requests)).toEqual([2, 2, 3, 3, 4, 4]);
    expect(usedOf(again)).toEqual([5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10]);
    expect(sent).toBe(2);
  });

  it('continues after the requests behind it have been sent', async () => {
    const sentAtResult: number[] = [];
    const first = ask(new Request(() => sentAtResult.push(sent)));
    // The first request was sent at the end of this turn. Its response takes at least another turn.
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toBe(1);
    const behind = ask(new Request(() => sentAtResult.push(sent)));
    await allSettled([first, behind]);
    expect(sentAtResult).toEqual([2, 2]);
  });

  it('is the only one to fail when the sink cannot record its decision', async () => {
    const fault = new Error('not noted');
    sink.onDecision = (_subject, decision) => {
      if (decision.used[KEY_MINUTE] === 3) throw fault;
      return decision;
    };
    const failed = jest.spyOn(sink, 'onFailure');
    const requests = repeat(3, () => ask(new Request()));
    await allSettled(requests);
    expect(requests.map(({ results, used }) => (results[0] === fault ? fault : used))).toEqual([2, fault, 4]);
    // Redis has counted the request, so there is nothing to compensate.
    expect(failed).not.toHaveBeenCalled();
  });

  it.each([
    ['a decision that is there', (instead: QuotaDecision): QuotaDecision | Promise<QuotaDecision> => instead],
    ['a decision that comes later', async (instead: QuotaDecision) => instead],
  ])('gets %s once in place of a failed one, and may send another request', async (_what, insteadOf) => {
    const instead = await counters.decide(subject, 1);
    sink.onFailure = () => insteadOf(instead);
    await loseRedis();
    const again: Request[] = [];
    const requests = [
      ask(new Request(() => void again.push(ask(new Request())))),
      ask(new Request(() => void again.push(ask(new Request(), other)))),
      ask(new Request(), other),
    ];
    await allSettled(requests);
    await allSettled(again);
    expect([...requests, ...again].map(({ results }) => results)).toEqual(repeat(5, () => [instead]));
  });

  it('may throw when it gets a substitute decision: other requests get theirs', async () => {
    const thrown: (() => void)[] = [];
    jest.spyOn(globalThis, 'queueMicrotask').mockImplementation((callback) => void thrown.push(callback));
    const instead = await counters.decide(subject, 1);
    sink.onFailure = () => instead;
    await loseRedis();
    const throwing = () => {
      throw new Error('a fault of its own');
    };
    const requests = [ask(new Request(throwing)), ask(new Request()), ask(new Request(throwing), other)];
    await allSettled(requests);
    expect(requests.map(({ results }) => results)).toEqual(repeat(3, () => [instead]));
    expect(thrown).toHaveLength(2);
  });

  it('gets the error once when there is no substitute decision, and so does a promise', async () => {
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
    await allSettled(requests);
    expect(requests.map(({ results }) => results)).toEqual(repeat(3, () => [refusal]));
    expect(thrown).toHaveLength(1);
  });
});
