/**
 * Makes all quota decisions. Decides by the counters, or by each plan's `onRedisLoss` policy while the counters are
 * unavailable. Also implements `ThrottlerStorage` of `@nestjs/throttler`, so that the admin API's guard uses the same
 * store.
 */
import type { ThrottlerStorage } from '@nestjs/throttler';
import type { Clock } from '../platform/clock.js';
import { Problem } from '../platform/problems/errors.js';
import type { Logger } from '../platform/log.js';
import { METRICS, type ValueSeries } from '../platform/metrics.js';
import { valueOrLater, PromiseReceiver, type ResultReceiver } from '../platform/callbacks.js';
import type { CounterReading, CounterStore, Refund, MinuteRoom, MonthSet } from './model/counter-store.js';
import type { Degradation } from './degradation.js';
import { findCachedRefusal } from './model/refusal-cache.js';
import type { MonthLedger } from './usage/month-ledger.js';
import type { MonthCalendar } from './model/month-period.js';
import { withCalendarCounts } from './model/calendar-count.js';
import type { QuotaCounts, QuotaDecision } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';
import { previewDecision, type PreviewedLimits } from './preview.js';
import type { Recovery } from './recovery.js';
import type { ShadowLimits } from './shadow-limits.js';
import { retryAfterOf, Throttle } from './throttle.js';
import type { ThrottleRow } from './model/throttle-rows.js';
import type { ThrottleWindows } from './throttle-windows.js';

/** RefundSeries counts refunded requests and their cost in the metrics. */
class RefundSeries {
  private readonly requests: ValueSeries;
  private readonly cost: ValueSeries;

  constructor(outcome: 'done' | 'failed') {
    this.requests = METRICS.quotaRefunds.series(outcome);
    this.cost = METRICS.quotaRefundedCost.series(outcome);
  }

  count(cost: number): void {
    this.requests.inc();
    this.cost.inc(cost);
  }
}

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/**
 * LimiterReading holds the counts of an account and a key. `isApproximate` is true if the counters could not be read.
 * The counts are then those that this node and the database know.
 */
export interface LimiterReading extends CounterReading {
  readonly isApproximate: boolean;
}

/** Fallback decides while the counters are unavailable, and restores them afterwards. */
export interface Fallback {
  readonly degradation: Degradation;
  readonly recovery: Recovery;
}

/** Limiter decides whether a request fits under its limits, refunds costs, and reads usage. */
export class Limiter implements ThrottlerStorage {
  private readonly degradation: Degradation | undefined;
  private readonly recovery: Recovery | undefined;
  private readonly refunded = new RefundSeries('done');
  private readonly notRefunded = new RefundSeries('failed');

  constructor(
    private readonly counters: CounterStore,
    private readonly shadows: ShadowLimits,
    private readonly ledger: MonthLedger,
    private readonly throttles: ThrottleWindows,
    private readonly clock: Clock,
    private readonly log: Logger,
    /** Undefined if the counters are in this process and cannot be lost. */
    fallback?: Fallback,
  ) {
    this.degradation = fallback?.degradation;
    this.recovery = fallback?.recovery;
  }

  /**
   * Checks a request against every window of its key and account, and counts it if it is admitted.
   * @throws Problem `quota_unavailable` if the counters are unavailable and the plan's policy is `closed`. Also if the
   * counters are in this process and their initial counts cannot be read from the database.
   */
  decide(subject: QuotaSubject, cost: number): QuotaDecision | Promise<QuotaDecision> {
    const promised = new PromiseReceiver<QuotaDecision>();
    return this.decideFor(promised, subject, cost) ?? promised.promise;
  }

  /**
   * Decides like `decide`, without creating a promise. Hot path.
   * @returns the decision if it is known immediately. Otherwise undefined, and `waiting` receives the decision or the
   * error of `decide` later.
   */
  decideFor(waiting: ResultReceiver<QuotaDecision>, subject: QuotaSubject, cost: number): QuotaDecision | undefined {
    const { degradation } = this;
    if (degradation === undefined) return this.counters.decideFor(waiting, subject, cost);
    const known = findCachedRefusal(subject, cost, this.clock.now());
    if (known !== undefined) return known;
    if (degradation.isOver) return this.counters.decideFor(waiting, subject, cost);
    // Check in the background whether the store responds again.
    void this.recovery?.probeIfDue();
    return valueOrLater(degradation.decide(subject, cost), waiting);
  }

  /**
   * Previews the result of `decide` without counting.
   * @throws Problem `quota_unavailable` if `decide` would throw it.
   */
  async preview(subject: QuotaSubject, cost: number): Promise<PreviewedLimits> {
    const { degradation } = this;
    const known = degradation === undefined ? undefined : findCachedRefusal(subject, cost, this.clock.now());
    if (degradation === undefined || degradation.isOver) {
      try {
        const { live, shadow } = await previewDecision(this.counters, subject, cost);
        const decision = known ?? live.decision;
        return { decision, live: { ...live, decision }, shadow };
      } catch (cause) {
        if (degradation === undefined) throw new Problem('quota_unavailable', { cause });
      }
    }
    if (known !== undefined) return { decision: known, live: undefined, shadow: undefined };
    return degradation.preview(subject, cost);
  }

  /**
   * Refunds the cost of an admitted decision. Never rejects.
   * @returns the cost that the key's month got back, or 0 if nothing was refunded or the refund failed.
   */
  async refund(subject: QuotaSubject, decision: QuotaDecision): Promise<number> {
    if (!decision.admitted || decision.cost === 0 || decision.source === 'open') return 0;
    subject.refusal = undefined;
    if (subject.shadow !== undefined) void this.shadows.refund(this.counters, subject.shadow, decision);
    const refundedHere = this.recovery?.refund(subject, decision);
    if (refundedHere !== undefined) {
      this.refunded.count(refundedHere);
      return refundedHere;
    }
    try {
      const refund = await this.counters.refund(subject, decision);
      this.refunded.count(refund.fromMonth);
      // A refusal that was decided during the refund does not take the refund into account.
      subject.refusal = undefined;
      this.recordRefund(subject, decision, refund);
      return refund.fromMonth;
    } catch (error) {
      this.notRefunded.count(decision.cost);
      // Debug level, because every failing request during an outage of Redis writes this message.
      this.log.debug({ event: 'give_back_failed', key_id: subject.keyId, err: error }, 'A refund failed');
      return 0;
    }
  }

  /** Records the counts after a refund on the subject and in the ledger. */
  private recordRefund(subject: QuotaSubject, decision: QuotaDecision, refund: Refund): void {
    const { nowMs, fromMonth } = refund;
    if (fromMonth === 0) return;
    const { lastSeen } = subject;
    if (lastSeen !== undefined && subject.lastSeenMonth === decision.period.label && nowMs >= subject.lastSeenAtMs) {
      subject.recordSeen(withCalendarCounts(lastSeen, refund), nowMs, refund.period);
    }
    this.ledger.markChanged(subject, decision);
  }

  /**
   * Sets the usage of the current month for a key, or for the account if `keyId` is undefined.
   * @throws Problem `quota_unavailable` if the counters cannot be set.
   */
  async setMonthUsed(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    used: number,
  ): Promise<MonthSet> {
    try {
      return await this.counters.setMonthUsed(accountId, keyId, calendar, used);
    } catch (cause) {
      throw new Problem('quota_unavailable', {
        detail:
          'The counters did not respond in time. Nothing was recorded. Repeat the request: it sets the count and does not add to it.',
        headers: ['Retry-After', '1'],
        cause,
      });
    }
  }

  /**
   * Reads counts for `/usage` and the admin API. While the counters are unavailable, returns the counts that this node
   * and the database know. Rejects if neither knows the counts.
   * @param subject the key's subject, if the caller has it.
   */
  async readOrEstimate(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    subject?: QuotaSubject,
  ): Promise<LimiterReading> {
    const { degradation } = this;
    if (degradation === undefined || degradation.isOver) {
      try {
        return { ...(await this.counters.read(accountId, keyId, calendar)), isApproximate: false };
      } catch (error) {
        if (degradation === undefined) throw error;
      }
    }
    return { ...(await degradation.read(accountId, keyId, calendar, subject)), isApproximate: true };
  }

  /** Reads the current counts. Rejects while the counters are unavailable. */
  read(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    room?: MinuteRoom,
  ): Promise<CounterReading> {
    return this.counters.read(accountId, keyId, calendar, room);
  }

  /**
   * Reads the current counts of the shadow limits. Rejects while the counters are unavailable.
   * @param live counts to use for shadow counters that do not exist yet.
   */
  readShadow(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    live: Readonly<QuotaCounts>,
    room?: MinuteRoom,
  ): Promise<CounterReading> {
    return this.counters.readShadow(accountId, keyId, calendar, live, room);
  }

  /** Reports whether the counters respond. */
  get storeUp(): boolean {
    return this.degradation === undefined || this.degradation.isOver;
  }

  /** When the counters were lost, in ms by this node's clock. Undefined while they respond. */
  get lostSinceMs(): number | undefined {
    return this.degradation?.sinceMs;
  }

  /** Returns the throttle of a row of `THROTTLES`. */
  throttle(row: ThrottleRow): Throttle {
    return new Throttle(this.throttles, row);
  }

  /**
   * Counts one hit, as `ThrottlerStorage` requires. The returned times are in seconds.
   * @param key name of a row of `THROTTLES`, a colon, and the caller.
   * @param ttl length of the window, in ms.
   */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    _blockDuration: number,
    _throttlerName: string,
  ): Promise<ThrottlerRecord> {
    const [name = '', ...counted] = key.split(':');
    const row = { name, limit, windowMs: ttl, by: 'caller', counted: 'store', mostKeys: 10_000 } as const;
    const window = await this.throttles.increment(row, counted.join(':'), limit);
    const waitSeconds = retryAfterOf(window);
    return {
      totalHits: window.admitted ? window.hits : limit + 1,
      timeToExpire: waitSeconds,
      isBlocked: !window.admitted,
      timeToBlockExpire: window.admitted ? 0 : waitSeconds,
    };
  }
}
