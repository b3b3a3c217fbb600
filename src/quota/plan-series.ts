/** Creates the metric series of every plan with the value 0, so that they are exported before the first request. */
import type { GatewayFile } from '../config/model/schema.js';
import { METRICS } from '../platform/metrics.js';

/** PlanSeries creates the metric series of each plan once. */
export class PlanSeries {
  private readonly begun = new Set<string>();

  constructor(plans: GatewayFile['plans']) {
    this.beginPlans(plans);
  }

  /**
   * Creates the series of new plans. Removed plans keep their series, because other code has cached the series by plan
   * name.
   */
  beginPlans(plans: GatewayFile['plans']): void {
    for (const [plan, { shadow }] of Object.entries(plans)) {
      this.beginSeries(METRICS.quotaDecisions, plan);
      if (shadow !== undefined) this.beginSeries(METRICS.quotaShadowDecisions, plan);
    }
  }

  private beginSeries(
    metric: { readonly name: string; begin(known: { readonly plan: string }): void },
    plan: string,
  ): void {
    const name = `${metric.name} ${plan}`;
    if (this.begun.has(name)) return;
    this.begun.add(name);
    metric.begin({ plan });
  }
}
