/**
 * Merges the metrics of several processes. Counters and histograms are added. A gauge becomes the sum, maximum or
 * minimum, depending on its meaning. The sums include the counters of ended processes. Otherwise, Prometheus would see
 * each restart as a reset followed by a burst.
 */
import { inTurns } from '../../platform/pace.js';
import { LARGEST_METRIC } from '../../platform/metrics/metric.js';
import type { Exemplar, Family, Histogram, Kind, Series } from '../../platform/metrics/family.js';
import { addNative } from '../../platform/metrics/native-buckets.js';

/** Gauges whose merged value is the maximum. Their value is equal in all processes, or the worst process matters. */
const HIGHEST = new RegExp(
  `^(${[
    /trailgate_build_info|trailgate_config_refused|trailgate_quota_nodes|nodejs_eventloop|process_start_time_seconds/,
    /trailgate_webhook_oldest_due_seconds|trailgate_key_staleness_seconds|\w*_lag_seconds|\w*_version_info/,
    /trailgate_upstream_targets\{.*state="(failing|ejected|unhealthy)"/,
  ]
    .map(({ source }) => source)
    .join('|')})`,
);
/**
 * Gauges whose merged value is the minimum, because a component is up, or a change in effect, only if all processes
 * report it.
 */
const LOWEST = /^(\w*_up|\w*_timestamp_seconds|trailgate_upstream_targets)(\{|$)/;

/** Gauges that contain a time, or 0 if the event has not occurred. The merged value is the earliest time. */
const EARLIEST = /^trailgate_quota_store_lost_timestamp_seconds(\{|$)/;

/** Merges the metrics of processes by family and labels. Yields to the event loop. */
export async function mergeMetrics(processes: readonly (readonly Family[])[]): Promise<Family[]> {
  const families = new Map<string, { family: Family; series: Map<string, Series> }>();
  for (const family of processes.flat()) {
    let merged = families.get(family.name);
    if (merged === undefined) families.set(family.name, (merged = { family, series: new Map() }));
    const { series } = merged;
    await inTurns(family.series, (one) => {
      const before = series.get(one.labels);
      series.set(one.labels, before === undefined ? one : combined(family, before, one));
    });
  }
  return Array.from(families.values(), ({ family, series }) => ({ ...family, series: [...series.values()] }));
}

/**
 * Returns the counters and histograms of an ended process, which the pool adds to later sums. Drops exemplars. A metric
 * keeps at most as many series as one process can have, because the labels of all ended processes together have no
 * limit.
 */
export function lastingMetrics(families: readonly Family[]): Family[] {
  return families
    .filter(({ kind }) => kind !== 'gauge')
    .map((family) => ({ ...family, series: family.series.slice(0, LARGEST_METRIC).map(withoutExemplars) }));
}

function withoutExemplars(series: Series): Series {
  if (series.histogram?.exemplars === undefined) return series;
  const { exemplars: _, ...histogram } = series.histogram;
  return { ...series, histogram };
}

function combined({ name, kind }: Family, a: Series, b: Series): Series {
  const { labels } = a;
  if (a.histogram !== undefined && b.histogram !== undefined) {
    return { labels, value: 0, histogram: addHistograms(a.histogram, b.histogram) };
  }
  return { labels, value: combinedValue(labels === '' ? name : `${name}{${labels}}`, kind, a.value, b.value) };
}

function combinedValue(series: string, kind: Kind, a: number | null, b: number | null): number | null {
  // Null stands for NaN, such as a mean without samples.
  if (a === null) return b;
  if (b === null) return a;
  if (kind !== 'gauge') return a + b;
  if (EARLIEST.test(series)) return a === 0 || b === 0 ? Math.max(a, b) : Math.min(a, b);
  if (HIGHEST.test(series)) return Math.max(a, b);
  return LOWEST.test(series) ? Math.min(a, b) : a + b;
}

/** Adds two histograms. All processes of a node use the same bounds. */
function addHistograms(a: Histogram, b: Histogram): Histogram {
  const native = a.native === undefined || b.native === undefined ? undefined : addNative(a.native, b.native);
  const exemplars = latestExemplars(a.exemplars, b.exemplars);
  return {
    bounds: a.bounds,
    counts: a.counts.map((count, index) => count + (b.counts[index] ?? 0)),
    sum: a.sum + b.sum,
    ...(native === undefined ? {} : { native }),
    ...(exemplars === undefined ? {} : { exemplars }),
  };
}

function latestExemplars(a: Histogram['exemplars'], b: Histogram['exemplars']): Histogram['exemplars'] {
  if (a === undefined || b === undefined) return a ?? b;
  return a.map((one, index) => later(one, b[index] ?? null));
}

function later(a: Exemplar | null, b: Exemplar | null): Exemplar | null {
  if (a === null || b === null) return a ?? b;
  return a.timeMs >= b.timeMs ? a : b;
}
