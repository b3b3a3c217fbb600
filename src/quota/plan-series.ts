/** Metric series of every plan, starting at 0 when the plan is configured. */
import type { GatewayFile } from '../config/model/schema.js';
import { METRICS } from '../platform/metrics.js';

/** PlanSeries begins the metric series of each plan at 0. */
export class PlanSeries {
  private readonly begun = new Set<string>();

  constructor(plans: GatewayFile['plans']) {
    this.beginPlans(plans);
  }

  /**
   * Begins the series of new plans. Removed plans keep their series, because other parts hold them by the plan's name.
   */
  beginPlans(plans: GatewayFile['plans']): void {
    for (const [plan, { shadow }] of Object.entries(plans)) {
      this.begin(METRICS.quotaDecisions, plan);
      if (shadow !== undefined) this.begin(METRICS.quotaShadowDecisions, plan);
    }
  }

  private begin(metric: { readonly name: string; begin(known: { readonly plan: string }): void }, plan: string): void {
    const name = `${metric.name} ${plan}`;
    if (this.begun.has(name)) return;
    this.begun.add(name);
    metric.begin({ plan });
  }
}
