/**
 * Batches decisions for Redis. Requests that arrive in one turn of the event loop, or while a call is in flight, share
 * the next call. Within a call, equal requests (same key, same cost) form one group. On an idle gateway, a request
 * waits for one round trip. If a call fails, the sink decides all of its requests and all pending requests.
 */
import { slotTag } from '../../stores/redis/keys.js';
import { slotOfTag } from '../../stores/redis/slots.js';
import { PromiseReceiver, type ResultReceiver } from '../../platform/callbacks.js';
import type { CounterMemory } from '../model/counter-memory.js';
import { DecisionCalls, LARGEST_BATCH, type BatchListener } from './decision-calls.js';
import { verdictAt } from './decision-text.js';
import { checkSeedAttempts, type CounterSeeds } from './counter-seeds.js';
import { DecisionGroup } from './decision-group.js';
import type { Decider, DecisionSink } from '../model/decision-sink.js';
import type { QuotaDecision } from '../model/policies.js';
import type { QuotaSubject } from '../model/subject.js';
import type { RedisCalls } from './redis-calls.js';
import type { RedisClock } from './redis-clock.js';
import { DECIDE_NUMBERS } from './scripts/decide.js';

/**
 * First number of a group in the response if a counter is young and this node must report first. Any other negative
 * number means that a counter is missing.
 */
const MUST_REPORT = -2;

/** DecisionBatcher gathers requests into batches, sends one batch at a time, and delivers the decisions. */
export class DecisionBatcher implements BatchListener, Decider {
  /** Groups that wait for the next batch. */
  private pending: DecisionGroup[] = [];
  /** Number of groups per account that wait for its counters to be created. */
  private readonly seeding = new Map<string, number>();
  /** Groups that wait because their account's counters are being created. */
  private held: DecisionGroup[] = [];
  /** Number of calls in flight. In a Cluster, a batch consists of several calls. */
  private inFlight = 0;
  /** Whether the pending groups are scheduled to be sent at the end of this turn of the event loop. */
  private isDue = false;
  private readonly sendDue = (): void => {
    this.isDue = false;
    this.send();
  };
  private readonly calls: DecisionCalls;

  constructor(
    calls: RedisCalls,
    redisClock: RedisClock,
    private readonly seeds: Pick<CounterSeeds, 'seedFor'>,
    private readonly sink: DecisionSink,
    /**
     * Whether Redis is a Cluster. In a Cluster, a call can access one slot only. A batch is therefore sent as one
     * parallel call per slot.
     */
    private readonly isCluster: boolean,
    private readonly memory: CounterMemory,
    /** Name of this node in Redis. */
    nodeId: string,
  ) {
    this.calls = new DecisionCalls(calls, redisClock, this, isCluster, nodeId);
  }

  decide(subject: QuotaSubject, cost: number): Promise<QuotaDecision> {
    const promised = new PromiseReceiver<QuotaDecision>();
    this.decideFor(promised, subject, cost);
    return promised.promise;
  }

  decideFor(waiting: ResultReceiver<QuotaDecision>, subject: QuotaSubject, cost: number): void {
    const open = subject.openGroup as DecisionGroup | undefined;
    if (open?.cost === cost) {
      open.add(waiting);
    } else {
      const group = new DecisionGroup(subject, cost, waiting);
      subject.openGroup = group;
      this.pending.push(group);
    }
    if (this.inFlight === 0) this.sendSoon();
  }

  /**
   * Schedules a send at the end of this turn of the event loop. Requests of this turn share the call, so the later ones
   * do not wait until the call has ended.
   */
  private sendSoon(): void {
    if (this.isDue) return;
    this.isDue = true;
    setImmediate(this.sendDue);
  }

  /** Reports whether there are calls whose result is unknown. */
  get isUnsure(): boolean {
    return this.calls.isUnsure;
  }

  /** Reads Redis's clock; see `DecisionCalls.learnTime`. */
  learnTime(deadlineMs: number): Promise<void> {
    return this.calls.learnTime(deadlineMs);
  }

  /** Refunds calls without a response; see `DecisionCalls.refundUnanswered`. */
  refundUnanswered(): Promise<boolean> {
    return this.calls.refundUnanswered();
  }

  /** Sends the pending groups if no call is in flight. */
  private send(): void {
    while (this.inFlight === 0 && this.pending.length > 0) {
      const batch = this.seeding.size === 0 ? this.takeBatch() : this.takeBatch().filter((group) => !this.holds(group));
      if (batch.length === 0) continue;
      const parts = this.isCluster ? bySlot(batch) : [batch];
      // Set `inFlight` before the first call. A call can end immediately, and groups that gather then must wait for the
      // next batch.
      this.inFlight = parts.length;
      for (const part of parts) this.calls.sendBatch(part);
    }
  }

  onResponse(batch: readonly DecisionGroup[], response: Float64Array): void {
    const isWhole = areDecided(batch, response);
    // The order matters. First recall earlier observations, then remember the costs that this response counted, then
    // report both.
    if (!isWhole) this.recall(batch, response);
    if (this.memory.isBusy) this.remember(batch, response);
    if (!isWhole) this.seedMissing(batch, response);
    // Send the next batch first. Redis processes the next batch while the requests of this batch continue.
    this.onCallEnded();
    this.deliverDecisions(batch, response);
  }

  onFailure(batch: readonly DecisionGroup[], error: unknown): void {
    this.failAll(batch, error);
    this.onCallEnded();
  }

  private onCallEnded(): void {
    this.inFlight -= 1;
    this.send();
  }

  /** Fails a batch and all pending groups. Otherwise the pending groups would wait for another deadline. */
  private failAll(batch: readonly DecisionGroup[], error: unknown): void {
    for (const group of [...batch, ...this.takeAll()]) group.fail(error, this.sink);
  }

  /**
   * Puts a group aside if the counters of its account are being created.
   * @returns whether the group was put aside.
   */
  private holds(group: DecisionGroup): boolean {
    if (!this.seeding.has(group.subject.accountId)) return false;
    this.held.push(group);
    return true;
  }

  /** Removes and returns all pending groups. Later requests form new groups. */
  private takeAll(): DecisionGroup[] {
    const all = this.pending;
    this.pending = [];
    for (const group of all) if (group.subject.openGroup === group) group.subject.openGroup = undefined;
    return all;
  }

  /** Removes and returns the pending groups for the next batch, at most `LARGEST_BATCH`. */
  private takeBatch(): DecisionGroup[] {
    if (this.pending.length <= LARGEST_BATCH) return this.takeAll();
    const batch = this.pending.splice(0, LARGEST_BATCH);
    for (const group of batch) if (group.subject.openGroup === group) group.subject.openGroup = undefined;
    return batch;
  }

  /**
   * Starts to create missing counters. Call it before the next send, because later groups of the same account must
   * wait.
   */
  private seedMissing(batch: readonly DecisionGroup[], response: Float64Array): void {
    let at = 1;
    for (const group of batch) {
      if (response[at]! < 0) void this.seedAndDecideAgain(group, response[at] === MUST_REPORT);
      at += DECIDE_NUMBERS;
    }
  }

  /**
   * Delivers the decisions. Each request continues immediately, and its further decisions wait for a later call. The
   * response stays valid during this method, because the next response is read in a later turn of the event loop.
   */
  private deliverDecisions(batch: readonly DecisionGroup[], response: Float64Array): void {
    // Keep the fraction of the millisecond. Of two observations in one millisecond, only the later observation is
    // right.
    const nowMs = response[0]! / 1_000;
    let at = 1;
    for (const group of batch) {
      if (response[at]! >= 0) group.resolve(verdictAt(response, at, nowMs, group.period), this.sink, this);
      at += DECIDE_NUMBERS;
    }
  }

  /**
   * Recalls the counts that this node saw of missing or young counters. Call it before any count of this response is
   * recorded.
   */
  private recall(batch: readonly DecisionGroup[], response: Float64Array): void {
    let at = 1;
    for (const { subject, period } of batch) {
      if (response[at]! < 0 && !subject.isShadow) {
        this.memory.takeKnownCounts(subject.accountId, subject.keyId, period, subject);
      }
      at += DECIDE_NUMBERS;
    }
  }

  /** Remembers the costs that this response counted in recalled counters, in case Redis is emptied again. */
  private remember(batch: readonly DecisionGroup[], response: Float64Array): void {
    let at = 1;
    for (const { subject, cost, period } of batch) {
      const counted = Math.max(0, response[at]!) * cost;
      if (counted > 0 && !subject.isShadow) {
        const costs = { account: counted, key: counted };
        this.memory.recordCost(subject.accountId, subject.keyId, period.label, costs, response[0]! / 1_000);
      }
      at += DECIDE_NUMBERS;
    }
  }

  /**
   * Creates missing counters from the database, or reports to young counters. The next batch then decides the group
   * again. Counters are missing for a new account, and after Redis was emptied.
   */
  private async seedAndDecideAgain(group: DecisionGroup, haveCounters: boolean): Promise<void> {
    const { accountId } = group.subject;
    this.seeding.set(accountId, (this.seeding.get(accountId) ?? 0) + 1);
    try {
      checkSeedAttempts(group.seeded);
      await this.seeds.seedFor(group, haveCounters);
      group.seeded += 1;
      this.held.push(group);
    } catch (error) {
      group.fail(error, this.sink);
    }
    const others = (this.seeding.get(accountId) ?? 1) - 1;
    if (others > 0) this.seeding.set(accountId, others);
    else this.seeding.delete(accountId);
    // Keep the order of arrival. The decisions of a burst must not depend on when its counters were created.
    this.pending.unshift(...this.held.toSorted((one, other) => one.order - other.order));
    this.held = [];
    this.send();
  }
}

/** Splits a batch by the Cluster slot of the accounts. */
function bySlot(batch: readonly DecisionGroup[]): DecisionGroup[][] {
  const parts = new Map<number, DecisionGroup[]>();
  for (const group of batch) {
    const slot = slotOfTag(slotTag(group.subject.accountId));
    const part = parts.get(slot);
    if (part === undefined) parts.set(slot, [group]);
    else part.push(group);
  }
  return [...parts.values()];
}

/** Reports whether every group was decided, which is nearly always true. */
function areDecided(batch: readonly DecisionGroup[], response: Float64Array): boolean {
  for (let at = 1 + (batch.length - 1) * DECIDE_NUMBERS; at > 0; at -= DECIDE_NUMBERS)
    if (response[at]! < 0) return false;
  return true;
}
