/**
 * Sends decision calls to Redis. This file formats each call, waits for the response, and repeats a call once if the
 * call reached Redis too late. It uses callbacks and one timer instead of promises, because there is a call for every
 * few requests.
 *
 * A call without a response may have run, or may run later. So each call contains the last instant at which it may run,
 * and writes a marker with the numbers of admitted requests. The requests of a lost call are decided without Redis. No
 * other call is sent until the counts of the lost call have been refunded.
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

/** Maximum number of groups in one script call. Bounds the time that Redis needs for a call to about a millisecond. */
export const LARGEST_BATCH = 256;
/**
 * How long a call may still run after it was sent. This is longer than any request waits, and shorter than that wait
 * plus the breaker's first pause.
 */
const LATEST_RUN_MS = 100;
/**
 * How long to wait until a lost call can no longer run, by this process's clock. If Redis's clock was set back, Redis
 * would report for longer that the call may still run.
 */
const LONGEST_WAIT_MS = 10_000;
/** Interval at which the marker's expiry is renewed. */
const MARKER_RENEWAL_MS = 60_000;
/** Number of arguments of `DECIDE_LUA`: last instant, batch number, the marker's time to live, groups. */
const ARGUMENTS = 4;

const DECIDE = new Script(DECIDE_LUA);
const UNDO = new Script(UNDO_LUA);
const TIME = new Script(TIME_LUA);

/** BatchListener receives the result of each batch exactly once. Its methods must not throw. */
export interface BatchListener {
  /**
   * Receives the response to a batch.
   * @param response numbers of `DECIDE_LUA`. They are valid until the next response arrives.
   */
  onResponse(batch: readonly DecisionGroup[], response: Float64Array): void;
  onFailure(batch: readonly DecisionGroup[], error: unknown): void;
}

/** LostCall is a call that got no response. */
interface LostCall {
  readonly sentMs: number;
  readonly batch: readonly DecisionGroup[];
  readonly marker: string;
  readonly number: number;
  /** Last instant at which the call may run, in ms by Redis's clock. */
  readonly latestMs: number;
}

/** DecisionCall is a call in flight. */
class DecisionCall implements WrittenCall, LostCall, TimedCall {
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

  onResult(response: unknown): void {
    this.calls.answered(this, response);
  }

  onError(error: Error): void {
    this.calls.failed(this, error);
  }
}

/** DecisionCalls sends batches to Redis, and refunds the batches that got no response. */
export class DecisionCalls {
  private lostCalls: LostCall[] = [];
  private readonly marker: string;
  private markerRenewedMs = -Infinity;
  private sent = 0;
  private readonly deadline: CallDeadline<DecisionCall>;
  /** Numbers of the current response. All responses share one array, because a response has hundreds of numbers. */
  private readonly numbers = new Float64Array(1 + LARGEST_BATCH * DECIDE_NUMBERS);

  constructor(
    private readonly calls: RedisCalls,
    private readonly redisClock: RedisClock,
    private readonly listener: BatchListener,
    private readonly isCluster: boolean,
    /** Name of this node in its markers. */
    private readonly nodeId: string,
  ) {
    this.marker = batchMarkerKey(nodeId);
    const { deadlineMs } = calls;
    this.deadline = new CallDeadline(deadlineMs, (call) => this.lost(call, noResponse(deadlineMs)));
  }

  /** Reports whether there are calls whose result is unknown. */
  get isUnsure(): boolean {
    return this.lostCalls.length > 0;
  }

  /**
   * Sends a batch, and sends it once more if the call reached Redis too late. A call is late if Redis's clock was not
   * known, or if the network was slow.
   */
  sendBatch(batch: readonly DecisionGroup[]): void {
    // If this process's clock was set, read Redis's time first. Otherwise this process would choose a wrong month for
    // all nodes.
    if (this.redisClock.isOff)
      void this.learnTime().then(
        () => this.sendNow(batch),
        (error: unknown) => this.listener.onFailure(batch, error),
      );
    else this.sendNow(batch);
  }

  /** Reads Redis's clock. Rejects if Redis does not respond. */
  async learnTime(deadlineMs = this.calls.deadlineMs): Promise<void> {
    const sentMs = performance.now();
    const [seconds, microseconds] = (await this.calls.runScript(TIME, [], [], deadlineMs)) as string[];
    this.redisClock.recordTime(
      Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000),
      sentMs,
      performance.now(),
    );
  }

  private sendNow(batch: readonly DecisionGroup[]): void {
    try {
      if (this.isUnsure) throw new Error('an earlier call has no response');
      const nowMs = this.redisClock.now();
      for (const group of batch) group.period = group.subject.calendar.at(nowMs);
      const { accountId } = batch[0]!.subject;
      if (this.isCluster) this.send(batch, slotMarkerKey(accountId, this.nodeId), slotOfTag(slotTag(accountId)), false);
      else this.send(batch, this.marker, 0, false);
    } catch (error) {
      this.listener.onFailure(batch, error);
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

  /** Handles the response to a call. */
  answered(call: DecisionCall, response: unknown): void {
    if (!this.deadline.end(call)) return;
    const endedMs = performance.now();
    const count = response instanceof Uint8Array ? readNumbers(response, this.numbers) : 0;
    const { batch, marker, slot, isSecond, sentMs } = call;
    if (count !== 1 && count !== 1 + batch.length * DECIDE_NUMBERS) {
      return this.giveUp(call, endedMs, new Error('the response does not match the call'));
    }
    this.calls.recordEnd(sentMs, endedMs, true);
    this.redisClock.recordTime(this.numbers[0]! / 1_000, sentMs, endedMs);
    if (count > 1) this.listener.onResponse(batch, this.numbers);
    else if (!isSecond) this.send(batch, marker, slot, true);
    else this.listener.onFailure(batch, new Error('the call reached Redis too late'));
  }

  /** Handles a call that Redis or its client rejected, or whose connection broke. */
  failed(call: DecisionCall, error: Error): void {
    if (this.deadline.end(call)) this.lost(call, error);
  }

  private lost(call: DecisionCall, error: Error): void {
    this.giveUp(call, performance.now(), error);
  }

  private giveUp(call: DecisionCall, endedMs: number, error: Error): void {
    const { batch, marker, number, latestMs, sentMs } = call;
    this.lostCalls.push({ batch, marker, number, latestMs, sentMs });
    this.calls.recordEnd(sentMs, endedMs, false, error);
    this.listener.onFailure(batch, error);
  }

  /**
   * Refunds the costs that calls without a response counted. Resolves to false while one of these calls may still run.
   * Rejects if Redis does not respond. Each call is refunded once, even if this method is called again.
   */
  async refundUnanswered(): Promise<boolean> {
    // Calls after the outage need Redis's current time.
    await this.learnTime();
    for (const call of this.lostCalls) {
      const { batch, marker, number, sentMs } = call;
      const latestMs = performance.now() - sentMs > LONGEST_WAIT_MS ? 0 : call.latestMs;
      const keys = batch.flatMap(({ subject }) => [subject.accountCounterKey, subject.keyCounterKey]);
      const costs = batch.flatMap(({ cost, period }) => [cost, ...labelsOf(period)]);
      const outcome = await this.calls.runScript(UNDO, [...keys, marker], [number, latestMs, ...costs]);
      if (outcome === -1) return false;
      this.lostCalls = this.lostCalls.filter((other) => other !== call);
    }
    return true;
  }

  /**
   * Returns the marker's time to live, in ms. A negative value applies only to a new marker, because the expiry of an
   * existing one was renewed recently.
   */
  private markerLife(nowMs: number): number {
    if (this.isCluster) return SLOT_MARKER_MS;
    if (nowMs - this.markerRenewedMs < MARKER_RENEWAL_MS) return -BATCH_MARKER_MS;
    this.markerRenewedMs = nowMs;
    return BATCH_MARKER_MS;
  }
}
