/**
 * Measures which requests a plan's shadow limits would have refused, for the metrics and usage reports. Shadow limits
 * check the requests that the live limits admitted, count them in separate counters, and refuse nothing. No request
 * waits for its shadow decision, which the next call to the store makes.
 */
import type { Clock } from '../platform/clock.js';
import { METRICS, type ValueSeries } from '../platform/metrics.js';
import type { CounterStore } from './model/counter-store.js';
import type { Decider } from './model/decision-sink.js';
import { findCachedRefusal, cacheRefusal } from './model/refusal-cache.js';
import { accountCountIn, keyCountIn } from './model/calendar-count.js';
import { countsMinus, policyNames, type QuotaDecision } from './model/policies.js';
import type { ShadowSubject } from './model/subject.js';

/**
 * ShadowLimits checks admitted requests against a plan's shadow limits, and counts the shadow decisions in the metrics.
 */
export class ShadowLimits {
  private readonly admitted = new Map<string, ValueSeries>();

  constructor(
    private readonly clock: Clock,
    /** Whether to remember refusals, because calls to the counters are expensive. */
    private readonly remembers: boolean,
  ) {}

  /**
   * Checks a request that the live limits admitted, and stores the decision in `live.shadow`. Not called while the
   * store is lost.
   * @param counters the counters that admitted the request.
   */
  decideShadow(counters: Decider, shadow: ShadowSubject, live: QuotaDecision): void {
    const { cost, period, used } = live;
    if (cost === 0) return;
    const known = this.remembers ? findCachedRefusal(shadow, cost, this.clock.now()) : undefined;
    if (known !== undefined) {
      this.count(shadow, known);
      live.shadow = known;
      return;
    }
    const before = countsMinus(used, cost);
    shadow.startsFrom = { period, account: accountCountIn(before), key: keyCountIn(before) };
    const decision = counters.decide(shadow, cost);
    live.shadow =
      decision instanceof Promise
        ? decision.then(
            (late) => this.recordDecision(shadow, late),
            () => this.recordFailure(shadow),
          )
        : this.recordDecision(shadow, decision);
  }

  /**
   * Refunds the shadow decision of a refunded live decision. Does nothing if the shadow limits refused the request.
   * Never rejects.
   */
  async refund(counters: Pick<CounterStore, 'refund'>, shadow: ShadowSubject, live: QuotaDecision): Promise<void> {
    const decision = await live.shadow;
    if (decision?.admitted !== true) return;
    shadow.refusal = undefined;
    try {
      await counters.refund(shadow, decision);
      // A refusal that was decided during the refund does not take the refund into account.
      shadow.refusal = undefined;
    } catch {
      this.recordFailure(shadow);
    }
  }

  private recordDecision(shadow: ShadowSubject, decision: QuotaDecision): QuotaDecision {
    if (!decision.admitted && this.remembers) cacheRefusal(shadow, decision, this.clock.now());
    this.count(shadow, decision);
    return decision;
  }

  private recordFailure({ plan }: ShadowSubject): undefined {
    METRICS.quotaShadowDecisions.series(plan, 'failed', '').inc();
    return undefined;
  }

  private count({ plan }: ShadowSubject, { admitted, violated }: QuotaDecision): void {
    if (admitted) {
      let series = this.admitted.get(plan);
      if (series === undefined) {
        series = METRICS.quotaShadowDecisions.series(plan, 'admitted', '');
        this.admitted.set(plan, series);
      }
      series.inc();
      return;
    }
    for (const policy of policyNames(violated)) METRICS.quotaShadowDecisions.series(plan, 'refused', policy).inc();
  }
}
