/** What a scrape of this process reads: every metric in Prometheus's text format, Node's own included. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { collectDefaultMetrics, register } from '@prometheus-io/client';
import { METRICS } from './metrics.js';

/** The longest that a timer of Node's runs: the client asks ten times a second for what is left out below. */
const NEVER_MS = 2 ** 31 - 1;

const LEFT_OUT = [
  // Gauges that are named like counters; the same numbers stand by type in `nodejs_active_handles` and its kin.
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
  // Percentiles of one process, which cannot be added up over several. `process_cpu_seconds_total` says how busy it is.
  'nodejs_eventloop_utilization_summary',
  'nodejs_eventloop_utilization_histogram',
];

let defaultsCollected = false;

/** ReadsGauges knows values that are read at a scrape rather than counted. */
export interface ReadsGauges {
  /** Sets its gauges to how things are now. Quick, and never throws. */
  readGauges(): void;
}

/** Every metric of this process in Prometheus's text format, Node's own included, with these gauges as they are now. */
export async function metricsText(sources: readonly ReadsGauges[]): Promise<string> {
  if (!defaultsCollected) {
    defaultsCollected = true;
    collectDefaultMetrics({ eventLoopUtilizationTimeout: NEVER_MS });
    for (const name of LEFT_OUT) register.removeSingleMetric(name);
  }
  for (const source of sources) source.readGauges();
  const ours: string[] = [];
  for (const metric of Object.values(METRICS)) {
    ours.push(metric.text());
    // Requests have the core between two metrics.
    await nextTurn();
  }
  return `${ours.join('\n')}\n${await register.metrics()}`;
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
