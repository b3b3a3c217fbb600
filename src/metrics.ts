/**
 * Every metric: name, help, labels, buckets. `docs/metrics.md` is held to this file by a test.
 *
 * Series are looked up once and kept by whoever counts, so that counting on the request path is an addition, not a look-up
 * by labels. Names follow OpenTelemetry's HTTP conventions and Prometheus's rules: base units, `_total` for counters.
 */
import { collectDefaultMetrics, register } from '@prometheus-io/client';

/** Bucket bounds of OpenTelemetry's HTTP duration histograms, in seconds, with 0.3 for the usual objective. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.3, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** For calls that ought to take well under a millisecond. */
const FAST_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05];

/** Most series of one metric; what comes after them is counted as `other`, so that a mistake cannot fill the memory. */
export const LARGEST_METRIC = 5_000;

type Kind = 'counter' | 'gauge' | 'histogram';

/** A single number under fixed labels. */
export class ValueSeries {
  value = 0;

  constructor(readonly labels: string) {}

  inc(by = 1): void {
    this.value += by;
  }

  set(value: number): void {
    this.value = value;
  }
}

/** A histogram under fixed labels. */
export class HistogramSeries {
  readonly counts: Float64Array;
  sum = 0;

  constructor(
    readonly labels: string,
    readonly bounds: readonly number[],
  ) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let index = 0;
    while (index < this.bounds.length && value > (this.bounds[index] ?? Infinity)) index++;
    this.counts[index] = (this.counts[index] ?? 0) + 1;
    this.sum += value;
  }
}

/** A metric: its description and its series. */
export class Metric<Series extends ValueSeries | HistogramSeries> {
  private readonly all = new Map<string, Series>();
  private other: Series | undefined;
  /** Called before every scrape, for values that are read rather than counted. */
  collect: (() => void) | undefined;

  constructor(
    readonly name: string,
    readonly kind: Kind,
    readonly help: string,
    readonly labelNames: readonly string[],
    private readonly create: (labels: string) => Series,
  ) {}

  /**
   * The series of these label values, in the order of `labelNames`. Keep it where it is counted often. Where there are
   * `LARGEST_METRIC` of them already: the one whose labels all say `other`.
   */
  series(...values: readonly (string | number)[]): Series {
    const labels = this.labelNames.map((name, index) => `${name}="${escapeLabel(String(values[index] ?? ''))}"`).join();
    let series = this.all.get(labels);
    if (series === undefined) {
      if (this.all.size >= LARGEST_METRIC) return this.overflow();
      series = this.create(labels);
      this.all.set(labels, series);
    }
    return series;
  }

  private overflow(): Series {
    this.other ??= this.create(this.labelNames.map((name) => `${name}="other"`).join());
    return this.other;
  }

  /** Prometheus's text format, version 0.0.4. */
  text(): string {
    this.collect?.();
    const lines = [`# HELP ${this.name} ${this.help}`, `# TYPE ${this.name} ${this.kind}`];
    for (const series of this.other === undefined ? this.all.values() : [...this.all.values(), this.other]) {
      if (series instanceof HistogramSeries) lines.push(...histogramLines(this.name, series));
      else lines.push(`${this.name}${series.labels === '' ? '' : `{${series.labels}}`} ${series.value}`);
    }
    return lines.join('\n');
  }
}

function histogramLines(name: string, series: HistogramSeries): string[] {
  const prefix = series.labels === '' ? '' : `${series.labels},`;
  const braces = series.labels === '' ? '' : `{${series.labels}}`;
  const lines: string[] = [];
  let total = 0;
  series.counts.forEach((count, index) => {
    total += count;
    lines.push(`${name}_bucket{${prefix}le="${series.bounds[index] ?? '+Inf'}"} ${total}`);
  });
  lines.push(`${name}_sum${braces} ${series.sum}`, `${name}_count${braces} ${total}`);
  return lines;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function counter(name: string, help: string, ...labelNames: string[]): Metric<ValueSeries> {
  return new Metric(name, 'counter', help, labelNames, (labels) => new ValueSeries(labels));
}

function gauge(name: string, help: string, ...labelNames: string[]): Metric<ValueSeries> {
  return new Metric(name, 'gauge', help, labelNames, (labels) => new ValueSeries(labels));
}

function histogram(
  name: string,
  help: string,
  bounds: readonly number[],
  ...labelNames: string[]
): Metric<HistogramSeries> {
  return new Metric(name, 'histogram', help, labelNames, (labels) => new HistogramSeries(labels, bounds));
}

export const METRICS = {
  requestDuration: histogram(
    'http_server_request_duration_seconds',
    'Time from the first byte of a request to the end of its answer, by operation.',
    DURATION_BUCKETS,
    'http_request_method',
    'http_route',
    'http_response_status_code',
  ),
  upstreamDuration: histogram(
    'trailgate_upstream_request_duration_seconds',
    'Time that a backend took, from dispatch to the end of its answer, by outcome.',
    DURATION_BUCKETS,
    'service',
    'outcome',
  ),
  upstreamTargetCalls: counter(
    'trailgate_upstream_target_calls_total',
    'Calls by target and outcome; each retry is a call.',
    'service',
    'target',
    'outcome',
  ),
  upstreamTargets: gauge(
    'trailgate_upstream_targets',
    'Addresses of each target by state: healthy, ejected or unhealthy.',
    'service',
    'target',
    'state',
  ),
  upstreamRetries: counter(
    'trailgate_upstream_retries_total',
    'Requests that were tried again, by how that ended; over_budget: that were not, because too many had been.',
    'service',
    'outcome',
  ),
  upstreamWaiting: gauge('trailgate_upstream_waiting_requests', 'Requests that wait for a connection.', 'service'),
  upstreamRefusals: counter(
    'trailgate_upstream_refusals_total',
    'Requests that were not sent to a service, by reason.',
    'service',
    'reason',
  ),
  refusals: counter(
    'trailgate_refusals_total',
    'Answers in the error shape, by code and whose fault it was; a backend that refused counts too.',
    'code',
    'fault',
  ),
  quotaDecisions: counter(
    'trailgate_quota_decisions_total',
    'Quota decisions by plan, outcome and the policy that refused (empty when admitted).',
    'plan',
    'outcome',
    'policy',
  ),
  quotaShadowDecisions: counter(
    'trailgate_quota_shadow_decisions_total',
    'What the shadow limits of a plan would have done with requests that were admitted, by policy that would have refused.',
    'plan',
    'outcome',
    'policy',
  ),
  quotaGiveBacks: counter('trailgate_quota_give_backs_total', 'Requests whose cost was given back.', 'outcome'),
  quotaReplays: counter(
    'trailgate_quota_replays_total',
    'Keys whose requests of an outage were counted in the store when it came back, by outcome.',
    'outcome',
  ),
  quotaNodes: gauge(
    'trailgate_quota_nodes',
    'Processes that hand out the same limits, as last heard over Redis: while it is away, each hands out its share.',
  ),
  quotaStoreUp: gauge(
    'trailgate_quota_store_up',
    '1 while the counters answer, 0 while plans decide without them.',
    'store',
  ),
  quotaStoreErrors: counter('trailgate_quota_store_errors_total', 'Calls to the counters that failed or timed out.'),
  quotaStoreCallDuration: histogram(
    'trailgate_quota_store_call_duration_seconds',
    'Time that a call to the counters took, answered or not. Many requests share one call.',
    FAST_BUCKETS,
  ),
  quotaDegradedSeconds: counter('trailgate_quota_store_degraded_seconds_total', 'Time spent without the counters.'),
  quotaDegradedDecisions: counter(
    'trailgate_quota_degraded_decisions_total',
    'Decisions made without the counters, by what the plan says.',
    'mode',
  ),
  usageFlushes: counter(
    'trailgate_usage_flushes_total',
    'Writes of usage and month counts to the database, by outcome.',
    'outcome',
  ),
  usageRows: counter('trailgate_usage_rows_total', 'Rows of usage and month counts that were written.'),
  usageReconciled: counter(
    'trailgate_usage_reconciled_total',
    'Keys of whose month a part had to be entered as unrecorded, or was found since, after a process had died.',
  ),
  usageFlushLag: gauge('trailgate_usage_flush_lag_seconds', 'Age of the oldest count that is not yet in the database.'),
  quotaCounters: gauge(
    'trailgate_quota_process_counters',
    'Accounts and keys that have counters in this process, by kind.',
    'kind',
  ),
  quotaNotices: counter(
    'trailgate_quota_notices_total',
    'Notices that a month is nearly or wholly used up, by policy and threshold in percent.',
    'policy',
    'threshold',
  ),
  keyCacheEntries: gauge('trailgate_key_cache_entries', 'Keys in memory, by kind (known, unknown).', 'kind'),
  keyLookups: counter('trailgate_key_lookups_total', 'Look-ups of keys, by where the answer came from.', 'result'),
  keyStaleAnswers: counter(
    'trailgate_key_stale_answers_total',
    'Requests that were let in on a key that could not be checked again, because the database was away.',
  ),
  invalidationBusUp: gauge('trailgate_invalidation_bus_up', '1 while changes to keys reach this process at once.'),
  failedAttempts: counter(
    'trailgate_failed_attempts_total',
    'Wrong keys by what was made of them: counted, throttled (the one that used up its address), unknown_proxy.',
    'result',
  ),
  failedAttemptAddresses: gauge('trailgate_failed_attempt_addresses', 'Addresses with a wrong key in the last minute.'),
  connections: gauge('trailgate_connections', 'Connections of clients that are open.'),
  connectionsCut: counter(
    'trailgate_connections_cut_total',
    'Connections that were closed on a client: limit, address_limit, slow_reader.',
    'reason',
  ),
  streamsCut: counter(
    'trailgate_streams_cut_total',
    'Answers, uploads and WebSockets that were cut because their key may not be used any more, by kind and error code.',
    'kind',
    'code',
  ),
  clientErrors: counter(
    'trailgate_client_errors_total',
    'Requests that could not be parsed or did not arrive in time, by error code.',
    'code',
  ),
  logLinesDropped: counter(
    'trailgate_log_lines_dropped_total',
    'Log lines that were dropped because their reader was too slow.',
  ),
  deprecatedRequests: counter(
    'trailgate_deprecated_requests_total',
    'Requests for a deprecated version or operation, by account; without an account where no valid key came.',
    'operation',
    'account_id',
  ),
  configReloads: counter(
    'trailgate_config_reloads_total',
    'Changes of the configuration, by result: applied, or refused while the one in force stays.',
    'result',
  ),
  configReloadTime: gauge(
    'trailgate_config_last_change_timestamp_seconds',
    'When the configuration in force was taken over, seconds since the Unix epoch.',
  ),
  workerRestarts: counter(
    'trailgate_worker_restarts_total',
    'Worker processes that ended by themselves and were replaced.',
  ),
  certificateReloads: counter(
    'trailgate_certificate_reloads_total',
    'Changes of the certificate files, by result: applied, or refused while the one in use stays.',
    'result',
  ),
  certificateExpiry: gauge(
    'trailgate_certificate_expiry_timestamp_seconds',
    "When the listener's certificate ends, seconds since the Unix epoch.",
  ),
  buildInfo: gauge('trailgate_build_info', 'Always 1; the version is a label.', 'version'),
} as const;

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

/** Every metric of this process in Prometheus's text format, Node's own included. */
export async function metricsText(): Promise<string> {
  if (!defaultsCollected) {
    defaultsCollected = true;
    collectDefaultMetrics({ eventLoopUtilizationTimeout: NEVER_MS });
    for (const name of LEFT_OUT) register.removeSingleMetric(name);
  }
  const ours = Object.values(METRICS).map((metric) => metric.text());
  return `${ours.join('\n')}\n${await register.metrics()}`;
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
