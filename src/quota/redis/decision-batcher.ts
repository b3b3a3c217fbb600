/**
 * Decisions on their way to Redis. Requests that arrive in one turn of the event loop, or while a call is in flight,
 * gather and share the next one; equal requests (same key, same cost) share one decision in it. An idle gateway pays
 * one round trip.
 */
import { slotTag } from '../../stores/redis/keys.js';
import { slotOfTag } from '../../stores/redis/slots.js';
import { Promised, type Waiting } from '../../platform/waiting.js';
import type { CounterMemory } from '../model/counter-memory.js';
import { DecisionCalls, LARGEST_BATCH, type Asker } from './decision-calls.js';
import { verdictAt } from './decision-text.js';
import { refuseEndlessSeeding, type CounterSeeds } from './counter-seeds.js';
import { DecisionGroup } from './decision-group.js';
import type { Decider, DecisionSink } from '../model/decision-sink.js';
import type { QuotaDecision } from '../model/policies.js';
import type { QuotaSubject } from '../model/subject.js';
import type { RedisCalls } from './redis-calls.js';
import type { RedisClock } from './redis-clock.js';
import { DECIDE_NUMBERS } from './scripts/decide.js';

/**
 * In the place of the first number about a group: a counter is young, and this node has to hand in first. Else below
 * zero: one is missing.
 */
const UNHEARD = -2;

/** DecisionBatcher gathers requests into batches, sends one at a time, and tells each request its decision. */
export class DecisionBatcher implements Asker, Decider {
  private pending: DecisionGroup[] = [];
  /** Accounts whose counters are being created, with how many groups wait for that; and what waits behind those. */
  private readonly seeding = new Map<string, number>();
  private held: DecisionGroup[] = [];
  /** Batches whose end nobody has been told yet. */
  private inFlight = 0;
  /** What has gathered is sent at the end of this turn of the event loop. */
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
    /** In a Cluster a call concerns one slot: what has gathered goes out as one call for each, side by side. */
    private readonly isCluster: boolean,
    private readonly memory: CounterMemory,
    /** The name by which Redis knows this node. */
    nodeId: string,
  ) {
    this.calls = new DecisionCalls(calls, redisClock, this, isCluster, nodeId);
  }

  decide(subject: QuotaSubject, cost: number): Promise<QuotaDecision> {
    const promised = new Promised<QuotaDecision>();
    this.decideFor(promised, subject, cost);
    return promised.promise;
  }

  decideFor(waiting: Waiting<QuotaDecision>, subject: QuotaSubject, cost: number): void {
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
   * Not at once: whoever has come in the same turn of the event loop shares the call, and would else wait for its
   * response first.
   */
  private sendSoon(): void {
    if (this.isDue) return;
    this.isDue = true;
    setImmediate(this.sendDue);
  }

  /** Whether there are calls of which nobody knows whether they counted. */
  get isUnsure(): boolean {
    return this.calls.isUnsure;
  }

  /** As `DecisionCalls.learnTime`. */
  learnTime(deadlineMs: number): Promise<void> {
    return this.calls.learnTime(deadlineMs);
  }

  /** As `DecisionCalls.refundUnanswered`. */
  refundUnanswered(): Promise<boolean> {
    return this.calls.refundUnanswered();
  }

  /** Sends what has gathered, when nothing is in flight. */
  private send(): void {
    while (this.inFlight === 0 && this.pending.length > 0) {
      const batch = this.seeding.size === 0 ? this.takeBatch() : this.takeBatch().filter((group) => !this.holds(group));
      if (batch.length === 0) continue;
      const parts = this.isCluster ? bySlot(batch) : [batch];
      // Before the first of them: one may end at once, and what gathers then is for the next round.
      this.inFlight = parts.length;
      for (const part of parts) this.calls.ask(part);
    }
  }

  answered(batch: readonly DecisionGroup[], response: Float64Array): void {
    const isWhole = areDecided(batch, response);
    // In this order: what was seen before, then what this response counted, and only then is both handed in.
    if (!isWhole) this.recall(batch, response);
    if (this.memory.isBusy) this.remember(batch, response);
    if (!isWhole) this.seedMissing(batch, response);
    // First, so that Redis works while the requests of this batch go on, which they do before `settle` returns.
    this.ended();
    this.settle(batch, response);
  }

  failed(batch: readonly DecisionGroup[], error: unknown): void {
    this.failAll(batch, error);
    this.ended();
  }

  private ended(): void {
    this.inFlight -= 1;
    this.send();
  }

  /** Whoever gathered meanwhile would wait for the same deadline again. */
  private failAll(batch: readonly DecisionGroup[], error: unknown): void {
    for (const group of [...batch, ...this.takeAll()]) group.fail(error, this.sink);
  }

  /** Puts a group aside whose account is being seeded, for as long as that takes. */
  private holds(group: DecisionGroup): boolean {
    if (!this.seeding.has(group.subject.accountId)) return false;
    this.held.push(group);
    return true;
  }

  private takeAll(): DecisionGroup[] {
    const all = this.pending;
    this.pending = [];
    for (const group of all) if (group.subject.openGroup === group) group.subject.openGroup = undefined;
    return all;
  }

  private takeBatch(): DecisionGroup[] {
    if (this.pending.length <= LARGEST_BATCH) return this.takeAll();
    const batch = this.pending.splice(0, LARGEST_BATCH);
    for (const group of batch) if (group.subject.openGroup === group) group.subject.openGroup = undefined;
    return batch;
  }

  /** Before anything else is sent: what comes later for the same account has to wait behind it. */
  private seedMissing(batch: readonly DecisionGroup[], response: Float64Array): void {
    let at = 1;
    for (const group of batch) {
      if (response[at]! < 0) void this.seedAndAskAgain(group, response[at] === UNHEARD);
      at += DECIDE_NUMBERS;
    }
  }

  /**
   * Gives every waiting request its decision. They go on at once, and what they ask anew gathers for a later call; the
   * next response is read in a later turn of the event loop, so that this one stays what it is.
   */
  private settle(batch: readonly DecisionGroup[], response: Float64Array): void {
    // With its fraction: of two that saw a count in one millisecond the later one is right.
    const nowMs = response[0]! / 1_000;
    let at = 1;
    for (const group of batch) {
      if (response[at]! >= 0) group.resolve(verdictAt(response, at, nowMs, group.period), this.sink, this);
      at += DECIDE_NUMBERS;
    }
  }

  /** What was seen of counters that are missing or young, before anything of this response is. */
  private recall(batch: readonly DecisionGroup[], response: Float64Array): void {
    let at = 1;
    for (const { subject, period } of batch) {
      if (response[at]! < 0 && !subject.isShadow) {
        this.memory.recall(subject.accountId, subject.keyId, period, subject);
      }
      at += DECIDE_NUMBERS;
    }
  }

  /** What was counted in counters that are young, for a Redis that is emptied again. */
  private remember(batch: readonly DecisionGroup[], response: Float64Array): void {
    let at = 1;
    for (const { subject, cost, period } of batch) {
      const counted = Math.max(0, response[at]!) * cost;
      if (counted > 0 && !subject.isShadow) {
        const costs = { account: counted, key: counted };
        this.memory.count(subject.accountId, subject.keyId, period.label, costs, response[0]! / 1_000);
      }
      at += DECIDE_NUMBERS;
    }
  }

  /**
   * A counter was missing: a new account or an emptied Redis. Its month comes from the database before anything counts.
   */
  private async seedAndAskAgain(group: DecisionGroup, areThere: boolean): Promise<void> {
    const { accountId } = group.subject;
    this.seeding.set(accountId, (this.seeding.get(accountId) ?? 0) + 1);
    try {
      refuseEndlessSeeding(group.seeded);
      await this.seeds.seedFor(group, areThere);
      group.seeded += 1;
      this.held.push(group);
    } catch (error) {
      group.fail(error, this.sink);
    }
    const others = (this.seeding.get(accountId) ?? 1) - 1;
    if (others > 0) this.seeding.set(accountId, others);
    else this.seeding.delete(accountId);
    // Those that came first are decided first: what a burst finds must not depend on when its counters were created.
    this.pending.unshift(...this.held.toSorted((one, other) => one.order - other.order));
    this.held = [];
    this.send();
  }
}

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

/** Whether every group was decided: nearly always. */
function areDecided(batch: readonly DecisionGroup[], response: Float64Array): boolean {
  for (let at = 1 + (batch.length - 1) * DECIDE_NUMBERS; at > 0; at -= DECIDE_NUMBERS)
    if (response[at]! < 0) return false;
  return true;
}
