/**
 * Decides requests while the shared counters are unavailable, by each plan's policy (`onRedisLoss`). Uses a circuit
 * breaker, and logs the requests that it admits without the counters.
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

/** StoreName is the name of the shared counters in logs and metrics. */
export interface StoreName {
  readonly inLog: string;
  readonly inMetrics: 'redis' | 'process';
}

/**
 * Degradation decides by each plan's policy while the store is lost. It never calls the store. `Recovery` does that.
 */
export class Degradation {
  private readonly degraded = {
    local: METRICS.quotaDegradedDecisions.series('local'),
    open: METRICS.quotaDegradedDecisions.series('open'),
    closed: METRICS.quotaDegradedDecisions.series('closed'),
  };

  /** Requests that this node admitted and the store has not counted yet. */
  readonly outage = new OutageLog();
  private readonly storeErrors = METRICS.quotaStoreErrors.series();
  /** Time up to which `quotaDegradedSeconds` has been counted, in ms. 0 while the store responds. */
  private degradedCountedMs = 0;

  constructor(
    private readonly breaker: Breaker,
    /** Counters of this node, used while the shared counters are unavailable. */
    private readonly local: LocalShare,
    private readonly clock: Clock,
    private readonly log: Logger,
    private readonly store: StoreName = { inLog: 'Redis', inMetrics: 'redis' },
  ) {}

  readGauges(): void {
    this.countDegradedTime();
    METRICS.quotaStoreLostTime.series().set((this.sinceMs ?? 0) / 1_000);
  }

  /**
   * Reads the usage that this node and the database know, instead of the store's counts. Rejects if neither knows the
   * usage; see `LocalShare.read`.
   */
  read(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    subject?: QuotaSubject,
  ): Promise<CounterReading> {
    return this.local.read(accountId, keyId, calendar, subject);
  }

  /** When the store was lost, in ms by this node's clock. Undefined while the store responds. */
  get sinceMs(): number | undefined {
    return this.breaker.openSinceMs;
  }

  /** Reports whether the store responds, so that there is no outage. */
  get isOver(): boolean {
    return this.breaker.openSinceMs === undefined;
  }

  /** Number of calls to the store without a response, since the process started. */
  get errors(): number {
    return this.storeErrors.value;
  }

  /** Reports whether the breaker allows a probe of the store now. The caller must report the probe's result. */
  mayProbe(): boolean {
    return this.breaker.allowsCall();
  }

  /** Restarts the breaker's pause, because the store responds but cannot make decisions yet. */
  restartPause(): void {
    if (!this.isOver) this.breaker.recordFailure();
  }

  /** Ends the outage, so that the store makes the decisions again. */
  endOutage(): void {
    if (!this.breaker.recordSuccess()) return;
    this.countDegradedTime();
    this.local.clear();
    METRICS.quotaStoreUp.series(this.store.inMetrics).set(1);
    this.log.warn(
      { event: 'quota_store_back' },
      `${this.store.inLog} responds again: all nodes share their limits again`,
    );
  }

  /**
   * Refunds a decision without the store, if the store is lost or has not counted the decision yet.
   * @param aheadMs the store's clock minus this node's, in ms.
   * @returns the cost that the current month got back, or 0 if the decision belongs to another month. Undefined if
   * nothing was refunded, because the store must make the refund.
   */
  refund(subject: QuotaSubject, decision: QuotaDecision, aheadMs: number): number | undefined {
    const { source, cost, nowMs, period } = decision;
    if (this.isOver && (source !== 'local' || !this.outage.hasEntry(subject, period))) return undefined;
    this.outage.recordCost(subject, -cost, source === 'local' ? nowMs : nowMs - aheadMs, period);
    if (source === 'local') this.local.refund(subject, decision);
    return subject.calendar.at(this.clock.now()).label === period.label ? cost : 0;
  }

  /**
   * Records the end of a call to the store.
   * @param cause the error, if the call got no response.
   */
  onCallEnd(hasResponse: boolean, cause?: unknown): void {
    if (hasResponse) return;
    this.storeErrors.inc();
    if (this.breaker.recordFailure()) {
      this.local.clear();
      this.degradedCountedMs = this.clock.now();
      METRICS.quotaStoreUp.series(this.store.inMetrics).set(0);
      const why = cause instanceof Error ? cause.message : undefined;
      const text = `${this.store.inLog} is unavailable: plans decide by onRedisLoss`;
      this.log.error({ event: 'quota_store_lost', cause: why }, text);
    }
  }

  /**
   * Decides by the plan's policy while the counters are unavailable.
   * @throws Problem `quota_unavailable` if the policy is `closed`.
   */
  decide(subject: QuotaSubject, cost: number, cause?: unknown): QuotaDecision | Promise<QuotaDecision> {
    this.degraded[subject.onStoreLoss].inc();
    const nowMs = this.clock.now();
    const period = subject.calendar.at(nowMs);
    switch (subject.onStoreLoss) {
      case 'closed':
        throw this.unavailable(cause);
      case 'open':
        return admitUncounted(subject, cost, nowMs, period);
      case 'local':
        return this.recordAdmitted(subject, this.local.decide(subject, cost, period));
    }
  }

  /**
   * Previews the result of `decide` without counting.
   * @throws Problem `quota_unavailable` if the policy is `closed`.
   */
  async preview(subject: QuotaSubject, cost: number): Promise<PreviewedLimits> {
    const { accountId, keyId, calendar, limits, onStoreLoss } = subject;
    const nowMs = this.clock.now();
    const period = calendar.at(nowMs);
    if (onStoreLoss === 'closed') throw this.unavailable();
    if (onStoreLoss === 'local') {
      const live = await this.local.preview(subject, cost, period);
      return { decision: live.decision, live, shadow: undefined };
    }
    const decision = admitUncounted(subject, cost, nowMs, period);
    const reading = await this.local.read(accountId, keyId, calendar, subject).catch(() => undefined);
    return { decision, live: reading && { limits, reading, decision }, shadow: undefined };
  }

  private unavailable(cause?: unknown): Problem {
    return new Problem('quota_unavailable', {
      detail: 'Usage limits cannot be checked at the moment. Nothing was counted; try again shortly.',
      headers: retryFields(this.breaker.waitMs),
      cause,
    });
  }

  /** Adds an admitted request to the outage log, so that the store counts it later. */
  private recordAdmitted(
    subject: QuotaSubject,
    decision: QuotaDecision | Promise<QuotaDecision>,
  ): QuotaDecision | Promise<QuotaDecision> {
    if (decision instanceof Promise) return decision.then((resolved) => this.recordAdmitted(subject, resolved));
    if (decision.admitted) this.outage.recordCost(subject, decision.cost, decision.nowMs, decision.period);
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

/** Returns the decision for a plan with the policy `open`, which admits the request and does not count it. */
function admitUncounted(subject: QuotaSubject, cost: number, nowMs: number, period: MonthPeriod): QuotaDecision {
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

/** Returns the counts that a store last reported for the subject. Counts of a month or a day that has ended are 0. */
function lastSeen(subject: QuotaSubject, period: MonthPeriod): Readonly<QuotaCounts> {
  const inPeriod = subject.lastSeenIn(period);
  if (inPeriod !== undefined) return inPeriod;
  const seen = subject.lastSeen ?? NOTHING_USED;
  return perWindow(({ kind }, index) => (kind === 'calendar' ? 0 : seen[index]!));
}
