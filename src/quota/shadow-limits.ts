/**
 * What a plan's shadow limits would have refused. They see the requests that the live limits admitted, count on
 * counters of their own what they would admit of them, and refuse nothing. No request waits for them: they ride in the
 * next call to the store.
 */
import type { Clock } from '../platform/clock.js';
import { METRICS, type ValueSeries } from '../platform/metrics.js';
import type { CounterStore } from './model/counter-store.js';
import type { Decider } from './model/decision-sink.js';
import { knownRefusal, rememberRefusal } from './model/known-refusal.js';
import { accountCountIn, keyCountIn } from './model/calendar-count.js';
import { countsMinus, policyNames, type QuotaDecision } from './model/policies.js';
import type { ShadowSubject } from './model/subject.js';

/** ShadowLimits judges by a plan's shadow limits what the live ones admitted, and counts the verdicts. */
export class ShadowLimits {
  private readonly admitted = new Map<string, ValueSeries>();

  constructor(
    private readonly clock: Clock,
    /** Whether asking the counters is dear enough to remember refusals. */
    private readonly remembers: boolean,
  ) {}

  /**
   * Judges what the live limits have admitted. Never throws; while the store is lost there is nothing to judge.
   * @param counters those that admitted it.
   */
  judge(counters: Decider, shadow: ShadowSubject, live: QuotaDecision): void {
    const { cost, period, used } = live;
    if (cost === 0) return;
    const known = this.remembers ? knownRefusal(shadow, cost, this.clock.now()) : undefined;
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
            (made) => this.made(shadow, made),
            () => this.failed(shadow),
          )
        : this.made(shadow, decision);
  }

  /** What is refunded of a live decision is refunded of its shadow; what that would have refused stays refused. */
  async refund(counters: Pick<CounterStore, 'refund'>, shadow: ShadowSubject, live: QuotaDecision): Promise<void> {
    const decision = await live.shadow;
    if (decision?.admitted !== true) return;
    shadow.refusal = undefined;
    try {
      await counters.refund(shadow, decision);
      // A refusal that was under way meanwhile knows nothing of it.
      shadow.refusal = undefined;
    } catch {
      this.failed(shadow);
    }
  }

  private made(shadow: ShadowSubject, decision: QuotaDecision): QuotaDecision {
    if (!decision.admitted && this.remembers) rememberRefusal(shadow, decision, this.clock.now());
    this.count(shadow, decision);
    return decision;
  }

  private failed({ plan }: ShadowSubject): undefined {
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
