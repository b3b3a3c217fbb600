/**
 * The calls that carry decisions to Redis: each is written, sent and waited for here, and asked a second time where it
 * came too late. With callbacks and one timer, not promises: a call is made for every few requests.
 *
 * A call that nobody got a response to may have run, or may run yet. It carries the last instant at which it may run,
 * and leaves a marker of what it counted: nothing else is sent until that has been refunded, because its requests were
 * decided elsewhere.
 */
import { BATCH_MARKER_MS, batchMarkerKey, SLOT_MARKER_MS, slotMarkerKey, slotTag } from '../../stores/redis/keys.js';
import { bulkText, plainText, type WrittenCall } from '../../stores/redis/script-command.js';
import { slotOfTag } from '../../stores/redis/slots.js';
import { CallDeadline, type TimedCall } from './call-deadline.js';
import { groupsText, keysText, readNumbers } from './decision-text.js';
import type { DecisionGroup } from './decision-group.js';
import { UNDO_LUA } from './scripts/outage.js';
import { labelsOf } from '../model/month-period.js';
import { noResponse, type RedisCalls } from './redis-calls.js';
import type { RedisClock } from './redis-clock.js';
import { Script } from '../../stores/redis/script.js';
import { DECIDE_LUA, DECIDE_NUMBERS } from './scripts/decide.js';
import { TIME_LUA } from './scripts/time.js';

/** Most groups in one script call: bounds how long Redis is busy with it (about a millisecond). */
export const LARGEST_BATCH = 256;
/**
 * How long after it was sent a call may still run: longer than anybody waits, shorter than the breaker's first pause
 * and that.
 */
const LATEST_RUN_MS = 100;
/** Redis's clock was set back and says that a call from long ago may still run: believed for this long. */
const LONGEST_WAIT_MS = 10_000;
/** How often the marker's life is renewed. */
const MARKER_RENEWAL_MS = 60_000;
/** Last instant, number, life of the marker, groups. */
const ARGUMENTS = 4;

const DECIDE = new Script(DECIDE_LUA);
const UNDO = new Script(UNDO_LUA);
const TIME = new Script(TIME_LUA);

/** Who asked, and is told once how it ended. Neither may throw. */
export interface Asker {
  /** @param response as `DECIDE_LUA` gives it; valid until this returns */
  answered(batch: readonly DecisionGroup[], response: Float64Array): void;
  failed(batch: readonly DecisionGroup[], error: unknown): void;
}

/** A call without a response. */
interface Unanswered {
  readonly sentMs: number;
  readonly batch: readonly DecisionGroup[];
  readonly marker: string;
  readonly number: number;
  /** Redis's time. */
  readonly latestMs: number;
}

/** A call on its way. */
class DecisionCall implements WrittenCall, Unanswered, TimedCall {
  readonly script = DECIDE;
  readonly argumentCount = ARGUMENTS;
  readonly keyCount: number;
  readonly text: string;
  deadlineSlot = -1;

  constructor(
    private readonly calls: DecisionCalls,
    readonly batch: readonly DecisionGroup[],
    readonly marker: string,
    readonly slot: number,
    readonly isSecond: boolean,
    readonly sentMs: number,
    readonly number: number,
    readonly latestMs: number,
    markerLifeMs: number,
  ) {
    this.keyCount = batch.length * 2 + 1;
    let keys = '';
    for (const { subject } of batch) keys += keysText(subject);
    this.text =
      keys +
      bulkText(marker) +
      plainText(String(latestMs)) +
      plainText(String(number)) +
      plainText(String(markerLifeMs)) +
      plainText(groupsText(batch));
  }

  answered(response: unknown): void {
    this.calls.answered(this, response);
  }

  failed(error: Error): void {
    this.calls.failed(this, error);
  }
}

/** DecisionCalls sends batches to Redis, and refunds those that got no response. */
export class DecisionCalls {
  private unanswered: Unanswered[] = [];
  private readonly marker: string;
  private markerRenewedMs = -Infinity;
  private sent = 0;
  private readonly deadline: CallDeadline<DecisionCall>;
  /** Of the response that is being read: one array for all, because every batch has hundreds of numbers. */
  private readonly numbers = new Float64Array(1 + LARGEST_BATCH * DECIDE_NUMBERS);

  constructor(
    private readonly calls: RedisCalls,
    private readonly redisClock: RedisClock,
    private readonly asker: Asker,
    private readonly isCluster: boolean,
    /** This node, in its markers. */
    private readonly nodeId: string,
  ) {
    this.marker = batchMarkerKey(nodeId);
    const { deadlineMs } = calls;
    this.deadline = new CallDeadline(deadlineMs, (call) => this.lost(call, noResponse(deadlineMs)));
  }

  /** Whether there are calls of which nobody knows whether they counted. */
  get isUnsure(): boolean {
    return this.unanswered.length > 0;
  }

  /**
   * One call; a second one where the first came too late, because Redis's clock was known wrong or the way was slow.
   */
  ask(batch: readonly DecisionGroup[]): void {
    // Else a clock of this process that was set would choose the month, for all nodes.
    if (this.redisClock.isOff)
      void this.learnTime().then(
        () => this.askNow(batch),
        (error: unknown) => this.asker.failed(batch, error),
      );
    else this.askNow(batch);
  }

  /** Asks Redis for its time. Rejects when it does not answer. */
  async learnTime(deadlineMs = this.calls.deadlineMs): Promise<void> {
    const sentMs = performance.now();
    const [seconds, microseconds] = (await this.calls.run(TIME, [], [], deadlineMs)) as string[];
    this.redisClock.heard(
      Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000),
      sentMs,
      performance.now(),
    );
  }

  private askNow(batch: readonly DecisionGroup[]): void {
    try {
      if (this.isUnsure) throw new Error('an earlier call has not been answered');
      const nowMs = this.redisClock.now();
      for (const group of batch) group.period = group.subject.calendar.at(nowMs);
      const { accountId } = batch[0]!.subject;
      if (this.isCluster) this.send(batch, slotMarkerKey(accountId, this.nodeId), slotOfTag(slotTag(accountId)), false);
      else this.send(batch, this.marker, 0, false);
    } catch (error) {
      this.asker.failed(batch, error);
    }
  }

  private send(batch: readonly DecisionGroup[], marker: string, slot: number, isSecond: boolean): void {
    const sentMs = performance.now();
    const latestMs = this.redisClock.instantAfter(sentMs, LATEST_RUN_MS);
    const lifeMs = this.markerLife(sentMs);
    const call = new DecisionCall(this, batch, marker, slot, isSecond, sentMs, ++this.sent, latestMs, lifeMs);
    this.deadline.begin(call);
    try {
      this.calls.send(call);
    } catch (error) {
      this.failed(call, error as Error);
    }
  }

  /** Redis has answered a call. */
  answered(call: DecisionCall, response: unknown): void {
    if (!this.deadline.end(call)) return;
    const endedMs = performance.now();
    const count = response instanceof Uint8Array ? readNumbers(response, this.numbers) : 0;
    const { batch, marker, slot, isSecond, sentMs } = call;
    if (count !== 1 && count !== 1 + batch.length * DECIDE_NUMBERS) {
      return this.giveUp(call, endedMs, new Error('the reply is none to this call'));
    }
    this.calls.ended(sentMs, endedMs, true);
    this.redisClock.heard(this.numbers[0]! / 1_000, sentMs, endedMs);
    if (count > 1) this.asker.answered(batch, this.numbers);
    else if (!isSecond) this.send(batch, marker, slot, true);
    else this.asker.failed(batch, new Error('the call came too late'));
  }

  /** Redis or its client has refused a call, or the connection broke. */
  failed(call: DecisionCall, error: Error): void {
    if (this.deadline.end(call)) this.lost(call, error);
  }

  private lost(call: DecisionCall, error: Error): void {
    this.giveUp(call, performance.now(), error);
  }

  private giveUp(call: DecisionCall, endedMs: number, error: Error): void {
    const { batch, marker, number, latestMs, sentMs } = call;
    this.unanswered.push({ batch, marker, number, latestMs, sentMs });
    this.calls.ended(sentMs, endedMs, false, error);
    this.asker.failed(batch, error);
  }

  /**
   * Refunds what calls counted whose responses nobody got. Resolves to false while one of them may still run; rejects
   * when Redis does not answer. Asked again, it refunds nothing twice.
   */
  async refundUnanswered(): Promise<boolean> {
    // What comes after this goes by Redis's time.
    await this.learnTime();
    for (const call of this.unanswered) {
      const { batch, marker, number, sentMs } = call;
      const latestMs = performance.now() - sentMs > LONGEST_WAIT_MS ? 0 : call.latestMs;
      const keys = batch.flatMap(({ subject }) => [subject.accountCounterKey, subject.keyCounterKey]);
      const costs = batch.flatMap(({ cost, period }) => [cost, ...labelsOf(period)]);
      const outcome = await this.calls.run(UNDO, [...keys, marker], [number, latestMs, ...costs]);
      if (outcome === -1) return false;
      this.unanswered = this.unanswered.filter((other) => other !== call);
    }
    return true;
  }

  /** How long the marker lives; below zero: only where it is new, because it was renewed lately. */
  private markerLife(nowMs: number): number {
    if (this.isCluster) return SLOT_MARKER_MS;
    if (nowMs - this.markerRenewedMs < MARKER_RENEWAL_MS) return -BATCH_MARKER_MS;
    this.markerRenewedMs = nowMs;
    return BATCH_MARKER_MS;
  }
}
