/** Provides the metrics of finished requests: duration, gateway overhead and refusals. */
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
 * RequestMetrics finds the series that the caller updates. Its methods have no parameter for the duration, because V8
 * would allocate each such number on the heap.
 */
export class RequestMetrics {
  /** Series by operation index and status. For most requests, array access avoids a lookup by label values. */
  private readonly byOperation: HistogramSeries[][] = [];
  /** Series of requests without an operation, by method and status. */
  private readonly withoutOperation = new Map<string, HistogramSeries[]>();
  private readonly refusals = new Map<ErrorCode, ValueSeries>();
  /** Series for the duration of a request without its backend call, in seconds. */
  readonly overhead = METRICS.requestOverhead.series();

  /** Returns the series for the duration of a request, in seconds. */
  durationOf(method: string, operation: Operation | undefined, status: number): HistogramSeries {
    // Unknown methods must not become label values (OpenTelemetry, HTTP semantic conventions).
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

  /** Returns the counter of problem responses with a code. */
  refusalsOf(code: ErrorCode): ValueSeries {
    let series = this.refusals.get(code);
    if (series === undefined) this.refusals.set(code, (series = METRICS.refusals.series(code, ERRORS[code].fault)));
    return series;
  }
}
