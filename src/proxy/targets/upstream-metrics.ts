/**
 * The numbers of a service and of its targets. Series are kept, so that counting a
 * call is one look-up and two additions.
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

/** The calls of one target. */
export class TargetSeries {
  /** Of what was answered, by `statusIndex`. */
  private readonly answered: (OutcomeSeries | undefined)[] = BACKEND_STATUSES.map(() => undefined);
  /** Of everything else. */
  private readonly outcomes = new Map<UpstreamOutcome, OutcomeSeries>();

  constructor(
    private readonly service: string,
    private readonly target: string,
  ) {}

  /** How a call ended. @param status means something where it was answered. */
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
 * A response that streams begins. What it costs from here on cannot be told from what its client takes, so that the
 * time until the backend was asked has to do, without that of attempts that failed.
 * @param askedMs when that was, by `performance.now()`.
 */
export function noteStream(client: ForwardClient, askedMs: number): void {
  client.isStreamed = true;
  const failedMs = Math.max(0, client.upstreamMs);
  OVERHEAD.observe((askedMs - client.startedMs - failedMs) / 1_000);
}

/** Where a status stands in `BACKEND_STATUSES`. */
function statusIndex(status: number): number {
  if (status < 500) return Math.max(0, Math.trunc(status / 100) - 1);
  if (status === 500) return 4;
  return status >= 502 && status <= 504 ? status - 497 : BACKEND_STATUSES.length - 1;
}

/** What a service counts of its calls, by service alone and by target. */
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

/** What a service counts beside its calls. All of its series are there from the start, and go with it. */
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

  /** Its last call is over: what no other service of its name counts is forgotten. */
  end(): void {
    const { service } = this;
    for (const metric of OF_SERVICE) metric.end({ service });
    for (const { label: target } of this.targets) for (const metric of OF_TARGETS) metric.end({ service, target });
  }

  retry(outcome: 'answered' | 'failed' | 'over_budget'): void {
    METRICS.upstreamRetries.series(this.service, outcome).inc();
  }

  /** A request that was not sent. */
  refuse(reason: 'no_target' | 'queue_full' | 'queue_timeout' | 'account_share'): void {
    METRICS.upstreamRefusals.series(this.service, reason).inc();
  }

  /** The targets are no longer there. */
  hideTargets(): void {
    for (const { label } of this.targets) {
      for (const state of STATES) METRICS.upstreamTargets.series(this.service, label, state).set(0);
    }
  }

  /** How many addresses of each target are in which state. */
  showTargets(): void {
    for (const { label, endpoints } of this.targets) {
      for (const state of STATES) {
        const count = endpoints.filter((endpoint) => endpoint.state === state).length;
        METRICS.upstreamTargets.series(this.service, label, state).set(count);
      }
    }
  }
}
