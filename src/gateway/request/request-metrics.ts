/** Metrics of finished requests: duration, gateway overhead and refusals. */
import type { Operation } from '../../config/model/schema.js';
import { METRICS, type HistogramSeries, type ValueSeries } from '../../platform/metrics.js';
import { ERRORS, type ErrorCode } from '../../platform/problems/errors.js';

const KNOWN_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'QUERY',
]);
/**
 * RequestMetrics returns the series that the caller updates. Its methods take no durations, because V8 would allocate
 * each of those numbers on the heap.
 */
export class RequestMetrics {
  /** Series by operation index and status. Array access avoids a lookup by text for most requests. */
  private readonly byOperation: HistogramSeries[][] = [];
  /** Series of requests without an operation, by method. */
  private readonly withoutOperation = new Map<string, HistogramSeries[]>();
  private readonly refusals = new Map<ErrorCode, ValueSeries>();
  /** The gateway's own share of a request's duration, in seconds. */
  readonly overhead = METRICS.requestOverhead.series();

  /** Returns the series for the duration of a request. */
  durationOf(method: string, operation: Operation | undefined, status: number): HistogramSeries {
    // Unknown methods must not become labels (OpenTelemetry).
    if (operation === undefined) return this.unroutedDuration(KNOWN_METHODS.has(method) ? method : '_OTHER', status);
    if (operation.method !== method)
      return METRICS.requestDuration.series(method, operation.route ?? operation.template, status);
    const statuses = (this.byOperation[operation.index] ??= []);
    return (statuses[status] ??= METRICS.requestDuration.series(method, operation.route ?? operation.template, status));
  }

  private unroutedDuration(method: string, status: number): HistogramSeries {
    let statuses = this.withoutOperation.get(method);
    if (statuses === undefined) this.withoutOperation.set(method, (statuses = []));
    return (statuses[status] ??= METRICS.requestDuration.series(method, '', status));
  }

  /** Returns the counter of refusals with a problem code. */
  refusalsOf(code: ErrorCode): ValueSeries {
    let series = this.refusals.get(code);
    if (series === undefined) this.refusals.set(code, (series = METRICS.refusals.series(code, ERRORS[code].fault)));
    return series;
  }
}
