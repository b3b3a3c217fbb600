/** Formats all metrics of this process for a scrape, including Node's own. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { collectDefaultMetrics, register } from '@prometheus-io/client';
import { METRICS } from './metrics.js';

/**
 * The longest timer that Node supports. By default, the client samples the metrics removed below ten times a second.
 */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const REMOVED_METRICS = [
  // Gauges named like counters. `nodejs_active_handles` and others report the same numbers by type.
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
  // Percentiles of one process cannot be aggregated. `process_cpu_seconds_total` shows the load.
  'nodejs_eventloop_utilization_summary',
  'nodejs_eventloop_utilization_histogram',
];

let defaultsCollected = false;

export interface ReadsGauges {
  /** Updates the gauges. Must be fast and must not throw. */
  readGauges(): void;
}

/**
 * Returns all metrics in Prometheus text format, including Node's own.
 * @param sources update their gauges first.
 */
export async function metricsText(sources: readonly ReadsGauges[]): Promise<string> {
  if (!defaultsCollected) {
    defaultsCollected = true;
    collectDefaultMetrics({ eventLoopUtilizationTimeout: LONGEST_TIMER_MS });
    for (const name of REMOVED_METRICS) register.removeSingleMetric(name);
  }
  for (const source of sources) source.readGauges();
  const ours: string[] = [];
  for (const metric of Object.values(METRICS)) {
    ours.push(metric.text());
    // Let requests run between two metrics.
    await nextTurn();
  }
  return `${ours.join('\n')}\n${await register.metrics()}`;
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
