/** Collects Node's own metrics with Prometheus's client. */
import { collectDefaultMetrics, register } from '@prometheus-io/client';
import { labelText, type Family, type Histogram, type Kind, type Series } from './family.js';

/**
 * Sampling interval of the metrics that are removed below, which turns their sampling off. It is the longest timer that
 * Node supports. By default, the client samples ten times a second.
 */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const REMOVED_METRICS = [
  // These gauges have names of counters. `nodejs_active_handles` and others report the same numbers by type.
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
  // Percentiles of one process cannot be aggregated. `process_cpu_seconds_total` shows the load.
  'nodejs_eventloop_utilization_summary',
  'nodejs_eventloop_utilization_histogram',
];

let hasBegun = false;

interface Value {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** Returns Node's metrics. The first call starts their collection. */
export async function nodeMetrics(): Promise<Family[]> {
  if (!hasBegun) {
    hasBegun = true;
    collectDefaultMetrics({ eventLoopUtilizationTimeout: LONGEST_TIMER_MS });
    for (const name of REMOVED_METRICS) register.removeSingleMetric(name);
  }
  const metrics = await register.getMetricsAsJSON();
  return metrics.map(({ name, help, type, values }) => {
    const kind = type as unknown as Kind;
    const all = values as readonly Value[];
    return { name, help, kind, series: kind === 'histogram' ? histograms(all) : all.map(valueOf) };
  });
}

function valueOf({ labels, value }: Value): Series {
  return { labels: labelText(Object.entries(labels)), value: Number.isNaN(value) ? null : value };
}

/** Joins the buckets and sums of histograms by their labels. */
function histograms(values: readonly Value[]): Series[] {
  const byLabels = new Map<string, { bounds: number[]; counts: number[]; sum: number; total: number }>();
  for (const { labels, metricName = '', value } of values) {
    const { le, ...others } = labels;
    const text = labelText(Object.entries(others));
    let one = byLabels.get(text);
    if (one === undefined) byLabels.set(text, (one = { bounds: [], counts: [], sum: 0, total: 0 }));
    if (metricName.endsWith('_sum')) one.sum = value;
    if (!metricName.endsWith('_bucket')) continue;
    if (le !== '+Inf') one.bounds.push(Number(le));
    one.counts.push(value - one.total);
    one.total = value;
  }
  return Array.from(byLabels, ([labels, { bounds, counts, sum }]) => {
    const histogram: Histogram = { bounds, counts, sum };
    return { labels, value: 0, histogram };
  });
}
