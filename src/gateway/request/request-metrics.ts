/**
 * The metrics of requests that have ended: how long they took, what of that was ours, and what they were refused with.
 */
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
 * RequestMetrics finds the series of a request. It is not told a time: that would be a number on the heap for each
 * request.
 */
export class RequestMetrics {
  /** By operation and status: an array read instead of a look-up by text, for the requests that come most. */
  private readonly byOperation: HistogramSeries[][] = [];
  /** The same for requests that none was found for, by method. */
  private readonly withoutOperation = new Map<string, HistogramSeries[]>();
  private readonly refusals = new Map<ErrorCode, ValueSeries>();
  /** What of the time of a request was ours. */
  readonly overhead = METRICS.requestOverhead.series();

  /** Where the time of a request is observed. */
  durationOf(method: string, operation: Operation | undefined, status: number): HistogramSeries {
    // OpenTelemetry: a method that is not known must not become a label.
    if (operation === undefined) return this.durationOfNone(KNOWN_METHODS.has(method) ? method : '_OTHER', status);
    if (operation.method !== method) return METRICS.requestDuration.series(method, operation.template, status);
    const statuses = (this.byOperation[operation.index] ??= []);
    return (statuses[status] ??= METRICS.requestDuration.series(method, operation.template, status));
  }

  private durationOfNone(method: string, status: number): HistogramSeries {
    let statuses = this.withoutOperation.get(method);
    if (statuses === undefined) this.withoutOperation.set(method, (statuses = []));
    return (statuses[status] ??= METRICS.requestDuration.series(method, '', status));
  }

  /** Where a request that had a problem for a response is counted. */
  refusalsOf(code: ErrorCode): ValueSeries {
    let series = this.refusals.get(code);
    if (series === undefined) this.refusals.set(code, (series = METRICS.refusals.series(code, ERRORS[code].fault)));
    return series;
  }
}
