/** The numbers of every plan are there at 0 from the moment that the configuration has it. */
import type { GatewayFile } from '../config/model/schema.js';
import { METRICS } from '../platform/metrics.js';

/** PlanSeries begins the metric series of each plan at 0. */
export class PlanSeries {
  private readonly begun = new Set<string>();

  constructor(plans: GatewayFile['plans']) {
    this.use(plans);
  }

  /**
   * The plans from now on. Those that are gone keep their numbers: whoever counts keeps the series by the plan's name.
   */
  use(plans: GatewayFile['plans']): void {
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
