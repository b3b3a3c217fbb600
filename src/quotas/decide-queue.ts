/**
 * Decisions on their way to Redis. Requests that arrive while a call is in flight gather and share the next one; equal requests
 * (same key, same cost) share one decision in it. An idle gateway pays one round trip.
 *
 * A call that nobody got an answer to may have run, or may run yet. It carries the last instant at which it may run, and leaves
 * a marker of what it counted: nothing else is sent until that has been taken back, because its requests were decided elsewhere.
 */
import { randomBytes } from 'node:crypto';
import { BATCH_MARKER_MS, batchMarkerKey, SLOT_MARKER_MS, slotMarkerKey, slotTag } from '../redis/keys.js';
import { slotOfTag } from '../redis/slots.js';
import { limitsText, numbersOf, verdictAt } from './decide-text.js';
import { Group, type Settling } from './gathering.js';
import { UNDO_LUA } from './outage-scripts.js';
import type { QuotaDecision, QuotaSubject } from './policies.js';
import type { RedisCalls } from './redis-calls.js';
import type { RedisClock } from './redis-clock.js';
import { Script } from './redis-script.js';
import { DECIDE_ANSWERS, DECIDE_LUA } from './scripts.js';

/** Most groups in one script call: bounds how long Redis is busy with it (about a millisecond). */
const LARGEST_BATCH = 256;
/** How often a counter may turn out to be missing again right after it was seeded. */
const SEED_ATTEMPTS = 2;
/** How long after it was sent a call may still run: longer than anybody waits, shorter than the breaker's first pause and that. */
const LATEST_RUN_MS = 100;
/** Redis's clock was set back and says that a call from long ago may still run: believed for this long. */
const LONGEST_WAIT_MS = 10_000;
/** How often the marker's life is renewed. */
const MARKER_RENEWAL_MS = 60_000;

const DECIDE = new Script(DECIDE_LUA);
const UNDO = new Script(UNDO_LUA);

/** A call without an answer. */
interface Unanswered {
  readonly number: number;
  readonly keys: readonly string[];
  /** Cost and month label of each group in turn. */
  readonly costs: readonly number[];
  /** Redis's time. */
  readonly latestMs: number;
  /** By `performance.now()`. */
  readonly sentMs: number;
}

export class DecideQueue {
  private pending: Group[] = [];
  /** Accounts whose counters are being created, with how many groups wait for that; and what waits behind those. */
  private readonly seeding = new Map<string, number>();
  private held: Group[] = [];
  private inFlight = false;
  private unanswered: Unanswered[] = [];
  private readonly nodeId = randomBytes(9).toString('base64url');
  private readonly marker = batchMarkerKey(this.nodeId);
  private markerRenewedMs = -Infinity;
  private batches = 0;

  constructor(
    private readonly calls: RedisCalls,
    private readonly redisClock: RedisClock,
    /** Creates the counters of a group from the database. */
    private readonly seed: (group: Group) => Promise<void>,
    private readonly settling: Settling,
    /** In a Cluster a call concerns one slot: what has gathered goes out as one call for each, side by side. */
    private readonly isCluster: boolean,
  ) {}

  decide(subject: QuotaSubject, cost: number): Promise<QuotaDecision> {
    return new Promise((resolve, reject) => {
      this.groupFor(subject, cost).add(resolve, reject);
      if (!this.inFlight) void this.send();
    });
  }

  /** Whether there are calls of which nobody knows whether they counted. */
  get isUnsure(): boolean {
    return this.unanswered.length > 0;
  }

  /**
   * Takes back what calls counted whose answers nobody got. Resolves to false while one of them may still run; rejects when Redis
   * does not answer. Asked again, it takes back nothing twice.
   */
  async takeBackUnanswered(): Promise<boolean> {
    for (const call of this.unanswered) {
      const latestMs = performance.now() - call.sentMs > LONGEST_WAIT_MS ? 0 : call.latestMs;
      const outcome = await this.calls.run(UNDO, call.keys, [call.number, latestMs, ...call.costs]);
      if (outcome === -1) return false;
      this.unanswered = this.unanswered.filter((other) => other !== call);
    }
    return true;
  }

  private groupFor(subject: QuotaSubject, cost: number): Group {
    const open = subject.gathering as Group | undefined;
    if (open?.cost === cost) return open;
    const group = new Group(subject, cost);
    subject.gathering = group;
    this.pending.push(group);
    return group;
  }

  /** Sends what has gathered, and again until nothing waits. */
  private async send(): Promise<void> {
    this.inFlight = true;
    while (this.pending.length > 0) {
      const batch = this.seeding.size === 0 ? this.takeBatch() : this.takeBatch().filter((group) => !this.holds(group));
      if (batch.length === 0) continue;
      if (this.isCluster) await Promise.all(bySlot(batch).map((part) => this.decideBatch(part)));
      else await this.decideBatch(batch);
    }
    this.inFlight = false;
  }

  /** Never rejects. */
  private async decideBatch(batch: readonly Group[]): Promise<void> {
    try {
      this.settle(batch, await this.ask(batch));
    } catch (error) {
      // Whoever gathered meanwhile would wait for the same deadline again.
      for (const group of [...batch, ...this.takeAll()]) group.fail(error, this.settling);
    }
  }

  /** Puts a group aside whose account is being seeded, for as long as that takes. */
  private holds(group: Group): boolean {
    if (!this.seeding.has(group.subject.accountId)) return false;
    this.held.push(group);
    return true;
  }

  private takeAll(): Group[] {
    const all = this.pending;
    this.pending = [];
    for (const group of all) if (group.subject.gathering === group) group.subject.gathering = undefined;
    return all;
  }

  private takeBatch(): Group[] {
    if (this.pending.length <= LARGEST_BATCH) return this.takeAll();
    const batch = this.pending.splice(0, LARGEST_BATCH);
    for (const group of batch) if (group.subject.gathering === group) group.subject.gathering = undefined;
    return batch;
  }

  /** One call; a second one where the first came too late, because Redis's clock was known wrong or the way was slow. */
  private async ask(batch: readonly Group[]): Promise<number[]> {
    if (this.isUnsure) throw new Error('an earlier call has not been answered');
    const keys: string[] = [];
    const texts: string[] = [];
    const nowMs = this.redisClock.now();
    for (const group of batch) {
      const { subject, cost, size } = group;
      group.period = subject.calendar.at(nowMs);
      keys.push(subject.accountCounterKey, subject.keyCounterKey);
      texts.push(`${cost} ${size} ${limitsText(subject, group.period)}`);
    }
    keys.push(this.isCluster ? slotMarkerKey(batch[0]!.subject.accountId, this.nodeId) : this.marker);
    const first = await this.run(batch, keys, texts);
    const answer = first.length > 1 ? first : await this.run(batch, keys, texts);
    if (answer.length === 1) throw new Error('Redis ran the call too late');
    return answer;
  }

  private async run(batch: readonly Group[], keys: readonly string[], texts: readonly string[]): Promise<number[]> {
    const sentMs = performance.now();
    const number = ++this.batches;
    const latestMs = this.redisClock.instantAfter(sentMs, LATEST_RUN_MS);
    let answer: number[];
    try {
      answer = numbersOf(
        (await this.calls.run(DECIDE, keys, [...texts, latestMs, number, this.renewal(sentMs)])) as string,
      );
    } catch (error) {
      const costs = batch.flatMap(({ cost, period }) => [cost, period.label]);
      this.unanswered.push({ number, keys, costs, latestMs, sentMs });
      throw error;
    }
    this.redisClock.heard(answer[0] ?? 0, sentMs, performance.now());
    return answer;
  }

  /** How long the marker lives; below zero: only where it is new, because it was renewed lately. */
  private renewal(nowMs: number): number {
    if (this.isCluster) return SLOT_MARKER_MS;
    if (nowMs - this.markerRenewedMs < MARKER_RENEWAL_MS) return -BATCH_MARKER_MS;
    this.markerRenewedMs = nowMs;
    return BATCH_MARKER_MS;
  }

  /** Hands every waiting request its decision. */
  private settle(batch: readonly Group[], answer: readonly number[]): void {
    const nowMs = answer[0] ?? this.redisClock.now();
    let at = 1;
    for (const group of batch) {
      if (answer[at] === -1) void this.seedAndAskAgain(group);
      else group.resolve(verdictAt(answer, at, nowMs, group.period), this.settling);
      at += DECIDE_ANSWERS;
    }
  }

  /** A counter was missing: a new account or an emptied Redis. Its month comes from the database before anything counts. */
  private async seedAndAskAgain(group: Group): Promise<void> {
    const { accountId } = group.subject;
    this.seeding.set(accountId, (this.seeding.get(accountId) ?? 0) + 1);
    try {
      if (group.seeded >= SEED_ATTEMPTS) throw new Error('counters vanish right after they are created');
      await this.seed(group);
      group.seeded += 1;
      this.held.push(group);
    } catch (error) {
      group.fail(error, this.settling);
    }
    const others = (this.seeding.get(accountId) ?? 1) - 1;
    if (others > 0) this.seeding.set(accountId, others);
    else this.seeding.delete(accountId);
    // Those that came first are decided first: what a burst finds must not depend on when its counters were created.
    this.pending.unshift(...this.held.toSorted((one, other) => one.order - other.order));
    this.held = [];
    if (!this.inFlight) void this.send();
  }
}

function bySlot(batch: readonly Group[]): Group[][] {
  const parts = new Map<number, Group[]>();
  for (const group of batch) {
    const slot = slotOfTag(slotTag(group.subject.accountId));
    const part = parts.get(slot);
    if (part === undefined) parts.set(slot, [group]);
    else part.push(group);
  }
  return [...parts.values()];
}
