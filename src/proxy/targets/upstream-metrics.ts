/**
 * Metrics of a service and its targets. Series are cached, so that counting a call costs one lookup and two additions.
 */
import { BACKEND_STATUSES } from '../../platform/metrics/request-metrics.js';
import { METRICS, type HistogramSeries, type ValueSeries } from '../../platform/metrics.js';
import type { ForwardClient } from './forward-request.js';
import type { UpstreamOutcome } from './upstream-errors.js';

type BackendStatus = (typeof BACKEND_STATUSES)[number];

interface OutcomeSeries {
  readonly durations: HistogramSeries;
  readonly calls: ValueSeries;
}

const STATES = ['healthy', 'failing', 'ejected', 'unhealthy'] as const;

/** Call metrics of one target. */
export class TargetSeries {
  /** Calls with a response, by `statusIndex`. */
  private readonly answered: (OutcomeSeries | undefined)[] = BACKEND_STATUSES.map(() => undefined);
  /** Calls without a response. */
  private readonly outcomes = new Map<UpstreamOutcome, OutcomeSeries>();

  constructor(
    private readonly service: string,
    private readonly target: string,
  ) {}

  /** Counts a call. @param status used for outcome `answered` only. */
  record(outcome: UpstreamOutcome, status: number, durationMs: number): void {
    const series = outcome === 'answered' ? this.ofStatus(statusIndex(status)) : this.ofOutcome(outcome);
    series.durations.observe(durationMs / 1_000);
    series.calls.inc();
  }

  private ofStatus(index: number): OutcomeSeries {
    return (this.answered[index] ??= this.open('answered', BACKEND_STATUSES[index] ?? '5xx'));
  }

  private ofOutcome(outcome: UpstreamOutcome): OutcomeSeries {
    let series = this.outcomes.get(outcome);
    if (series === undefined) this.outcomes.set(outcome, (series = this.open(outcome, '')));
    return series;
  }

  private open(outcome: UpstreamOutcome, status: BackendStatus | ''): OutcomeSeries {
    return {
      durations: METRICS.upstreamDuration.series(this.service, outcome),
      calls: METRICS.upstreamTargetCalls.series(this.service, this.target, outcome, status),
    };
  }
}

const OVERHEAD = METRICS.requestOverhead.series();

/**
 * Records the gateway's overhead when a response starts to stream. After that, the client's speed dominates. The
 * overhead is the time until the backend call started, without failed attempts.
 * @param askedMs start of the backend call, by `performance.now()`.
 */
export function recordStreamStart(client: ForwardClient, askedMs: number): void {
  client.isStreamed = true;
  const failedMs = Math.max(0, client.upstreamMs);
  OVERHEAD.observe((askedMs - client.startedMs - failedMs) / 1_000);
}

/** Returns the index of a status in `BACKEND_STATUSES`. */
function statusIndex(status: number): number {
  if (status < 500) return Math.max(0, Math.trunc(status / 100) - 1);
  if (status === 500) return 4;
  return status >= 502 && status <= 504 ? status - 497 : BACKEND_STATUSES.length - 1;
}

/** Metrics labeled by service alone. */
const OF_SERVICE = [
  METRICS.upstreamDuration,
  METRICS.upstreamRetries,
  METRICS.upstreamRefusals,
  METRICS.upstreamWaiting,
];
const OF_TARGETS = [METRICS.upstreamTargetCalls, METRICS.upstreamTargets];

interface CountedTarget {
  readonly label: string;
  readonly endpoints: readonly { readonly state: (typeof STATES)[number] }[];
}

/** Other metrics of a service. All series exist from the start and are removed with the service. */
export class UpstreamMetrics {
  readonly waiting: ValueSeries;

  constructor(
    private readonly service: string,
    private readonly targets: readonly CountedTarget[],
  ) {
    for (const metric of OF_SERVICE) metric.begin({ service });
    for (const { label: target } of targets) for (const metric of OF_TARGETS) metric.begin({ service, target });
    this.waiting = METRICS.upstreamWaiting.series(service);
  }

  /** Removes the series unless another service of the same name still uses them. */
  removeSeries(): void {
    const { service } = this;
    for (const metric of OF_SERVICE) metric.end({ service });
    for (const { label: target } of this.targets) for (const metric of OF_TARGETS) metric.end({ service, target });
  }

  countRetry(outcome: 'answered' | 'failed' | 'over_budget'): void {
    METRICS.upstreamRetries.series(this.service, outcome).inc();
  }

  /** Counts a request that was not sent. */
  countRefusal(reason: 'no_target' | 'queue_full' | 'queue_timeout' | 'account_share'): void {
    METRICS.upstreamRefusals.series(this.service, reason).inc();
  }

  /** Sets the target counts to zero after the service was retired. */
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
