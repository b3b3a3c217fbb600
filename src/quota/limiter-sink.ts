/**
 * Receives the decisions and failures of the counters for the limiter. Records each decision. After a failure,
 * `Degradation` decides, or the request is refused with `quota_unavailable`.
 */
import type { Clock } from '../platform/clock.js';
import { Problem } from '../platform/problems/errors.js';
import type { MonthLedger } from './usage/month-ledger.js';
import type { Degradation } from './degradation.js';
import type { Decider, DecisionSink } from './model/decision-sink.js';
import { cacheRefusal } from './model/refusal-cache.js';
import type { QuotaDecision } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';
import type { ShadowLimits } from './shadow-limits.js';

/**
 * LimiterSink records each live decision in the ledger and on its subject. It passes admitted requests to the shadow
 * limits. Shadow decisions are not recorded.
 */
export class LimiterSink implements DecisionSink {
  constructor(
    private readonly ledger: MonthLedger,
    private readonly shadows: ShadowLimits,
    private readonly clock: Clock,
    /** Undefined if the counters are in this process and cannot be lost. */
    private readonly degradation?: Degradation,
  ) {}

  onDecision(subject: QuotaSubject, decision: QuotaDecision, by: Decider): QuotaDecision {
    if (subject.isShadow) return decision;
    // Remember the counts for an outage. Counters in this process cannot be lost, so the sink does not remember their
    // counts.
    if (this.degradation !== undefined) {
      if (subject.lastSeenMonth !== decision.period.label) this.ledger.keepEndedMonth(subject);
      subject.recordSeen(decision.used, decision.nowMs, decision.period);
    }
    if (decision.admitted) {
      this.ledger.markChanged(subject, decision);
      if (subject.shadow !== undefined) this.shadows.decideShadow(by, subject.shadow, decision);
    } else {
      cacheRefusal(subject, decision, this.clock.now());
      this.ledger.recordRefusal(subject, decision);
    }
    return decision;
  }

  /**
   * Decides without the store.
   * @throws Problem `quota_unavailable` if the plan's policy is `closed`, or if the counters are in this process. For a
   * shadow subject, throws `cause`.
   */
  onFailure(subject: QuotaSubject, cost: number, cause: unknown): QuotaDecision | Promise<QuotaDecision> {
    if (subject.isShadow) throw cause;
    if (this.degradation === undefined) throw new Problem('quota_unavailable', { cause });
    return this.degradation.decide(subject, cost, cause);
  }

  onCallEnd(hasResponse: boolean, cause?: unknown): void {
    this.degradation?.onCallEnd(hasResponse, cause);
  }
}
