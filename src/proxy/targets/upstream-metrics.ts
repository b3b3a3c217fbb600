/** Records the metrics of a service and its targets. The metric series are cached, because each call uses them. */
import { BACKEND_STATUSES } from '../../platform/metrics/request-metrics.js';
import { METRICS, type HistogramSeries, type ValueSeries } from '../../platform/metrics.js';
import type { ForwardClient } from './forward-request.js';
import type { UpstreamOutcome } from './upstream-errors.js';

type BackendStatus = (typeof BACKEND_STATUSES)[number];

/** Metrics of the calls with one outcome. */
interface OutcomeSeries {
  readonly durations: HistogramSeries;
  readonly calls: ValueSeries;
}

const STATES = ['healthy', 'failing', 'ejected', 'unhealthy'] as const;

/** TargetSeries records the metrics of the calls to one target. */
export class TargetSeries {
  /** Metrics of calls with a response, by `statusIndex`. */
  private readonly answered: (OutcomeSeries | undefined)[] = BACKEND_STATUSES.map(() => undefined);
  /** Metrics of calls without a response. */
  private readonly outcomes = new Map<UpstreamOutcome, OutcomeSeries>();

  constructor(
    private readonly service: string,
    private readonly target: string,
  ) {}

  /** Counts an ended call. @param status the backend's status, which only counts for the outcome `answered`. */
  record(outcome: UpstreamOutcome, status: number, durationMs: number): void {
    const series = outcome === 'answered' ? this.seriesOfStatus(statusIndex(status)) : this.seriesOfOutcome(outcome);
    series.durations.observe(durationMs / 1_000);
    series.calls.inc();
  }

  private seriesOfStatus(index: number): OutcomeSeries {
    return (this.answered[index] ??= this.createSeries('answered', BACKEND_STATUSES[index] ?? '5xx'));
  }

  private seriesOfOutcome(outcome: UpstreamOutcome): OutcomeSeries {
    let series = this.outcomes.get(outcome);
    if (series === undefined) this.outcomes.set(outcome, (series = this.createSeries(outcome, '')));
    return series;
  }

  private createSeries(outcome: UpstreamOutcome, status: BackendStatus | ''): OutcomeSeries {
    return {
      durations: METRICS.upstreamDuration.series(this.service, outcome),
      calls: METRICS.upstreamTargetCalls.series(this.service, this.target, outcome, status),
    };
  }
}

const OVERHEAD = METRICS.requestOverhead.series();

/**
 * Marks a response as streamed, and records the gateway's overhead before the client's speed would distort the value.
 * The overhead is the time until the latest attempt started, minus the time of failed attempts.
 * @param attemptMs start of the latest attempt, by `performance.now()`.
 */
export function recordStreamStart(client: ForwardClient, attemptMs: number): void {
  client.isStreamed = true;
  const failedMs = Math.max(0, client.upstreamMs);
  OVERHEAD.observe((attemptMs - client.startedMs - failedMs) / 1_000);
}

/** Returns the index of a status in `BACKEND_STATUSES`. */
function statusIndex(status: number): number {
  if (status < 500) return Math.max(0, Math.trunc(status / 100) - 1);
  if (status === 500) return 4;
  return status >= 502 && status <= 504 ? status - 497 : BACKEND_STATUSES.length - 1;
}

/** Metrics without a label for the target. */
const SERVICE_METRICS = [
  METRICS.upstreamDuration,
  METRICS.upstreamRetries,
  METRICS.upstreamRefusals,
  METRICS.upstreamWaiting,
];
/** Metrics with a label for the target. */
const TARGET_METRICS = [METRICS.upstreamTargetCalls, METRICS.upstreamTargets];

interface CountedTarget {
  readonly label: string;
  readonly endpoints: readonly { readonly state: (typeof STATES)[number] }[];
}

/** UpstreamMetrics records the other metrics of a service. All series exist from the start, until `removeSeries`. */
export class UpstreamMetrics {
  /** Number of queued calls. */
  readonly waiting: ValueSeries;

  constructor(
    private readonly service: string,
    private readonly targets: readonly CountedTarget[],
  ) {
    for (const metric of SERVICE_METRICS) metric.begin({ service });
    for (const { label: target } of targets) for (const metric of TARGET_METRICS) metric.begin({ service, target });
    this.waiting = METRICS.upstreamWaiting.series(service);
  }

  /** Removes the series, unless another service of the same name still uses the series. */
  removeSeries(): void {
    const { service } = this;
    for (const metric of SERVICE_METRICS) metric.end({ service });
    for (const { label: target } of this.targets) for (const metric of TARGET_METRICS) metric.end({ service, target });
  }

  /** Counts a retried call by its result, or a retry that the budget did not allow. */
  countRetry(outcome: 'answered' | 'failed' | 'over_budget'): void {
    METRICS.upstreamRetries.series(this.service, outcome).inc();
  }

  /** Counts a call that was rejected and not sent. */
  countRefusal(reason: 'no_target' | 'queue_full' | 'queue_timeout' | 'account_share'): void {
    METRICS.upstreamRefusals.series(this.service, reason).inc();
  }

  /** Sets the number of addresses to zero, because the service was retired. */
  clearTargets(): void {
    for (const { label } of this.targets) {
      for (const state of STATES) METRICS.upstreamTargets.series(this.service, label, state).set(0);
    }
  }

  /** Updates the number of addresses by target and state. */
  updateTargets(): void {
    for (const { label, endpoints } of this.targets) {
      for (const state of STATES) {
        const count = endpoints.filter((endpoint) => endpoint.state === state).length;
        METRICS.upstreamTargets.series(this.service, label, state).set(count);
      }
    }
  }
}
