/**
 * What is done while the shared counters are away: a breaker, what the plan says, and a log of what was admitted
 * without them.
 */
import type { Clock } from '../platform/clock.js';
import { Problem } from '../platform/problems/errors.js';
import type { Logger } from '../platform/log.js';
import { METRICS } from '../platform/metrics.js';
import { retryFields } from '../platform/problems/retry-after.js';
import type { Breaker } from '../platform/breaker.js';
import type { CounterReading } from './model/counter-store.js';
import type { PreviewedLimits } from './preview.js';
import type { LocalShare } from './local-share.js';
import type { MonthCalendar, MonthPeriod } from './model/month-period.js';
import { OutageLog } from './model/outage-log.js';
import { perWindow } from '../platform/quotas/windows.js';
import { NOTHING_USED, type QuotaCounts, type QuotaDecision } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';

/** StoreName is what shared counters are called. */
export interface StoreName {
  readonly inLog: string;
  readonly inMetrics: 'redis' | 'process';
}

/**
 * Degradation decides without the store while it is lost, by what each plan says. It knows no store: `Recovery` brings
 * it back.
 */
export class Degradation {
  private readonly degraded = {
    local: METRICS.quotaDegradedDecisions.series('local'),
    open: METRICS.quotaDegradedDecisions.series('open'),
    closed: METRICS.quotaDegradedDecisions.series('closed'),
  };

  /** What was admitted here and has not been counted in the store yet. */
  readonly outage = new OutageLog();
  private readonly storeErrors = METRICS.quotaStoreErrors.series();
  private degradedCountedMs = 0;

  constructor(
    private readonly breaker: Breaker,
    /** What this node counts on with while the counters are away. */
    private readonly local: LocalShare,
    private readonly clock: Clock,
    private readonly log: Logger,
    /** What the store is called in the log, and in metrics. */
    private readonly store: StoreName = { inLog: 'Redis', inMetrics: 'redis' },
  ) {}

  readGauges(): void {
    this.countDegradedTime();
    METRICS.quotaStoreLostTime.series().set((this.sinceMs ?? 0) / 1_000);
  }

  /**
   * What this node knows to be used, in the place of a reading of the store. Rejects where it knows nothing, see
   * `LocalShare.read`.
   */
  read(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    subject?: QuotaSubject,
  ): Promise<CounterReading> {
    return this.local.read(accountId, keyId, calendar, subject);
  }

  /** When the store was lost, ms by this node's clock; undefined while it answers. */
  get sinceMs(): number | undefined {
    return this.breaker.openSinceMs;
  }

  /** Whether the counters answer. */
  get isOver(): boolean {
    return this.breaker.openSinceMs === undefined;
  }

  /** Calls to the store that got no response, since the process began. */
  get errors(): number {
    return this.storeErrors.value;
  }

  /** Whether the store may be asked now whether it is back; then its caller says how that ended. */
  mayAsk(): boolean {
    return this.breaker.allows();
  }

  /** The store answers, but does not decide yet: the pause before it is asked again begins here. */
  wait(): void {
    if (!this.isOver) this.breaker.failed();
  }

  /** The store decides again. */
  end(): void {
    if (!this.breaker.succeeded()) return;
    this.countDegradedTime();
    this.local.clear();
    METRICS.quotaStoreUp.series(this.store.inMetrics).set(1);
    this.log.warn(
      { event: 'quota_store_back' },
      `${this.store.inLog} answers again: limits are shared by all nodes again`,
    );
  }

  /**
   * Refunds without the store: while it is lost, and what was admitted here and has not been counted there yet.
   * @param aheadMs the store's clock minus this node's.
   * @returns what the month is refunded; undefined where it must be refunded there.
   */
  refund(subject: QuotaSubject, decision: QuotaDecision, aheadMs: number): number | undefined {
    const { source, cost, nowMs, period } = decision;
    if (this.isOver && (source !== 'local' || !this.outage.holds(subject, period))) return undefined;
    this.outage.note(subject, -cost, source === 'local' ? nowMs : nowMs - aheadMs, period);
    if (source === 'local') this.local.refund(subject, decision);
    return subject.calendar.at(this.clock.now()).label === period.label ? cost : 0;
  }

  /** Notes that a call to the store ended; `cause` says why one got no response. */
  called(isAnswered: boolean, cause?: unknown): void {
    if (isAnswered) return;
    this.storeErrors.inc();
    if (this.breaker.failed()) {
      this.local.clear();
      this.degradedCountedMs = this.clock.now();
      METRICS.quotaStoreUp.series(this.store.inMetrics).set(0);
      const why = cause instanceof Error ? cause.message : undefined;
      const text = `${this.store.inLog} does not count: plans decide by onRedisLoss`;
      this.log.error({ event: 'quota_store_lost', cause: why }, text);
    }
  }

  /**
   * What the plan says while the counters are away.
   * @throws Problem `quota_unavailable` where it says closed.
   */
  decide(subject: QuotaSubject, cost: number, cause?: unknown): QuotaDecision | Promise<QuotaDecision> {
    this.degraded[subject.onStoreLoss].inc();
    const nowMs = this.clock.now();
    const period = subject.calendar.at(nowMs);
    switch (subject.onStoreLoss) {
      case 'closed':
        throw this.closed(cause);
      case 'open':
        return admitted(subject, cost, nowMs, period);
      case 'local':
        return this.logged(subject, this.local.decide(subject, cost, period));
    }
  }

  /**
   * Previews what `decide` would say; counts nothing.
   * @throws Problem `quota_unavailable` where the plan says closed.
   */
  async preview(subject: QuotaSubject, cost: number): Promise<PreviewedLimits> {
    const { accountId, keyId, calendar, limits, onStoreLoss } = subject;
    const nowMs = this.clock.now();
    const period = calendar.at(nowMs);
    if (onStoreLoss === 'closed') throw this.closed();
    if (onStoreLoss === 'local') {
      const live = await this.local.preview(subject, cost, period);
      return { decision: live.decision, live, shadow: undefined };
    }
    const decision = admitted(subject, cost, nowMs, period);
    const reading = await this.local.read(accountId, keyId, calendar, subject).catch(() => undefined);
    return { decision, live: reading && { limits, reading, decision }, shadow: undefined };
  }

  private closed(cause?: unknown): Problem {
    return new Problem('quota_unavailable', {
      detail: 'Usage limits cannot be checked at the moment. Nothing was counted; try again shortly.',
      headers: retryFields(this.breaker.waitMs),
      cause,
    });
  }

  /** What is admitted here is counted in the store when it is back. */
  private logged(
    subject: QuotaSubject,
    decision: QuotaDecision | Promise<QuotaDecision>,
  ): QuotaDecision | Promise<QuotaDecision> {
    if (decision instanceof Promise) return decision.then((made) => this.logged(subject, made));
    if (decision.admitted) this.outage.note(subject, decision.cost, decision.nowMs, decision.period);
    return decision;
  }

  private countDegradedTime(): void {
    const since = this.breaker.openSinceMs;
    const now = this.clock.now();
    if (since !== undefined || this.degradedCountedMs > 0) {
      METRICS.quotaDegradedSeconds
        .series()
        .inc(this.degradedCountedMs > 0 ? Math.max(0, now - this.degradedCountedMs) / 1_000 : 0);
    }
    this.degradedCountedMs = since === undefined ? 0 : now;
  }
}

/** The decision of a plan that says open: nobody counts it. */
function admitted(subject: QuotaSubject, cost: number, nowMs: number, period: MonthPeriod): QuotaDecision {
  return {
    admitted: true,
    source: 'open',
    cost,
    nowMs,
    period,
    used: lastSeen(subject, period),
    keyMinuteResetMs: 0,
    accountMinuteResetMs: 0,
    violated: 0,
    retryAtMs: 0,
  };
}

/** The counts to go on from; a month that has ended meanwhile starts at nothing. */
function lastSeen(subject: QuotaSubject, period: MonthPeriod): Readonly<QuotaCounts> {
  const inPeriod = subject.lastSeenIn(period);
  if (inPeriod !== undefined) return inPeriod;
  const seen = subject.lastSeen ?? NOTHING_USED;
  return perWindow(({ kind }, index) => (kind === 'calendar' ? 0 : seen[index]!));
}
