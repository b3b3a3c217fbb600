/**
 * The one place that decides quotas: asks the counters, and where they are away does what the plan says. It is also the
 * `ThrottlerStorage` of `@nestjs/throttler`, so that the admin application's stock guard counts in the same place.
 */
import type { ThrottlerStorage } from '@nestjs/throttler';
import type { Clock } from '../platform/clock.js';
import { Problem } from '../platform/problems/errors.js';
import type { Logger } from '../platform/log.js';
import { METRICS, type ValueSeries } from '../platform/metrics.js';
import { nowOrTold, Promised, type Waiting } from '../platform/waiting.js';
import type { CounterReading, CounterStore, Refund, MinuteRoom, MonthSet } from './model/counter-store.js';
import type { Degradation } from './degradation.js';
import { knownRefusal } from './model/known-refusal.js';
import type { MonthLedger } from './usage/month-ledger.js';
import type { MonthCalendar } from './model/month-period.js';
import { withCalendarCounts } from './model/calendar-count.js';
import type { QuotaCounts, QuotaDecision } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';
import { preview, type PreviewedLimits } from './preview.js';
import type { Recovery } from './recovery.js';
import type { ShadowLimits } from './shadow-limits.js';
import { retryAfterOf, Throttle } from './throttle.js';
import type { ThrottleRow } from './model/throttle-rows.js';
import type { ThrottleWindows } from './throttle-windows.js';

/** How many requests had their cost refunded, and how much that came to. */
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

/** A reading, and whether it is what this node knows in the place of what the counters hold. */
export interface KnownReading extends CounterReading {
  readonly isApproximate: boolean;
}

/** What is done while counters are away that can be lost, and what brings them back. */
export interface Fallback {
  readonly degradation: Degradation;
  readonly recovery: Recovery;
}

/** Limiter decides whether a request has room, refunds a cost, and says what is used. */
export class Limiter implements ThrottlerStorage {
  private readonly degradation: Degradation | undefined;
  private readonly recovery: Recovery | undefined;
  private readonly refunded = new RefundSeries('done');
  private readonly notRefunded = new RefundSeries('failed');

  constructor(
    /** They report what they decide to the sink. */
    private readonly counters: CounterStore,
    private readonly shadows: ShadowLimits,
    private readonly ledger: MonthLedger,
    private readonly throttles: ThrottleWindows,
    private readonly clock: Clock,
    private readonly log: Logger,
    /** Not where the counters are in this process and cannot be lost. */
    fallback?: Fallback,
  ) {
    this.degradation = fallback?.degradation;
    this.recovery = fallback?.recovery;
  }

  /**
   * Judges a request by every window of its key and account.
   * @throws Problem `quota_unavailable` where the counters are away and the plan says closed.
   */
  decide(subject: QuotaSubject, cost: number): QuotaDecision | Promise<QuotaDecision> {
    const promised = new Promised<QuotaDecision>();
    return this.decideFor(promised, subject, cost) ?? promised.promise;
  }

  /**
   * As `decide`, without a promise: for every request.
   * @returns the decision where it is known at once; undefined: `waiting` is told it, or what `decide` throws.
   */
  decideFor(waiting: Waiting<QuotaDecision>, subject: QuotaSubject, cost: number): QuotaDecision | undefined {
    const { degradation } = this;
    if (degradation === undefined) return this.counters.decideFor(waiting, subject, cost);
    const known = knownRefusal(subject, cost, this.clock.now());
    if (known !== undefined) return known;
    if (degradation.isOver) return this.counters.decideFor(waiting, subject, cost);
    // Whether it is back; no request waits for that.
    void this.recovery?.probe();
    return nowOrTold(degradation.decide(subject, cost), waiting);
  }

  /**
   * Previews what `decide` would say; counts nothing.
   * @throws Problem `quota_unavailable` where `decide` would throw it.
   */
  async preview(subject: QuotaSubject, cost: number): Promise<PreviewedLimits> {
    const { degradation } = this;
    const known = degradation === undefined ? undefined : knownRefusal(subject, cost, this.clock.now());
    if (degradation === undefined || degradation.isOver) {
      try {
        const { live, shadow } = await preview(this.counters, subject, cost);
        const decision = known ?? live.decision;
        return { decision, live: { ...live, decision }, shadow };
      } catch (cause) {
        if (degradation === undefined) throw new Problem('quota_unavailable', { cause });
      }
    }
    if (known !== undefined) return { decision: known, live: undefined, shadow: undefined };
    return degradation.preview(subject, cost);
  }

  /** Refunds the cost of an admitted decision. Resolves to how much of it the month refunded; never rejects. */
  async refund(subject: QuotaSubject, decision: QuotaDecision): Promise<number> {
    if (!decision.admitted || decision.cost === 0 || decision.source === 'open') return 0;
    subject.refusal = undefined;
    if (subject.shadow !== undefined) void this.shadows.refund(this.counters, subject.shadow, decision);
    const noted = this.recovery?.refund(subject, decision);
    if (noted !== undefined) {
      this.refunded.count(noted);
      return noted;
    }
    try {
      const given = await this.counters.refund(subject, decision);
      this.refunded.count(given.fromMonth);
      // A refusal that was under way meanwhile knows nothing of it.
      subject.refusal = undefined;
      this.seeRefund(subject, decision, given);
      return given.fromMonth;
    } catch (error) {
      this.notRefunded.count(decision.cost);
      // At debug: in an outage of Redis there is one for every request that fails.
      this.log.debug({ event: 'give_back_failed', key_id: subject.keyId, err: error }, 'A cost was not given back');
      return 0;
    }
  }

  private seeRefund(subject: QuotaSubject, decision: QuotaDecision, given: Refund): void {
    const { nowMs, fromMonth } = given;
    if (fromMonth === 0) return;
    const { lastSeen } = subject;
    if (lastSeen !== undefined && subject.lastSeenMonth === decision.period.label && nowMs >= subject.lastSeenAtMs) {
      subject.see(withCalendarCounts(lastSeen, given), nowMs, given.period);
    }
    this.ledger.note(subject, decision);
  }

  /**
   * Says what is used in the current month of a key, without one of the account.
   * @throws Problem `quota_unavailable` where that cannot be done.
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
          'The counters did not answer in time, and nothing was recorded. Send it again: it sets, it does not add.',
        headers: ['Retry-After', '1'],
        cause,
      });
    }
  }

  /**
   * Reads counts for `/usage` and the admin API: as they stand, and while the counters are away as far as this node
   * knows. Rejects where it knows nothing either.
   * @param subject of the key, where a request of it is at hand.
   */
  async readOrKnow(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    subject?: QuotaSubject,
  ): Promise<KnownReading> {
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

  /** Reads counts as they stand. Rejects while the counters are away. */
  read(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    room?: MinuteRoom,
  ): Promise<CounterReading> {
    return this.counters.read(accountId, keyId, calendar, room);
  }

  /**
   * The same of what a plan's shadow limits have admitted.
   * @param live the live counts, where those begin that do not exist yet.
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

  /** Whether the counters answer. */
  get storeUp(): boolean {
    return this.degradation === undefined || this.degradation.isOver;
  }

  /** When the counters were lost, ms; undefined while they answer. */
  get lostSinceMs(): number | undefined {
    return this.degradation?.sinceMs;
  }

  /** The throttle of a row, on the same store as the counters. */
  throttle(row: ThrottleRow): Throttle {
    return new Throttle(this.throttles, row);
  }

  /**
   * `ThrottlerStorage`: counts one hit; times in seconds.
   * @param key name of a row of `THROTTLES`, a colon, and what is counted there.
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
