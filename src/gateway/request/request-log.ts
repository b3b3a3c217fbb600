/** The end of every request: its duration in a histogram, its outcome in counters, one line in the log. Never a secret. */
import { systemClock } from '../../platform/clock.js';
import type { Operation } from '../../config/model/schema.js';
import { ERRORS, type ErrorCode } from '../../problems/errors.js';
import { withoutSecrets } from '../../keys/api-key-format.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Log } from '../../platform/log.js';
import { METRICS, type HistogramSeries, type ValueSeries } from '../../platform/metrics.js';
import { ABORTED, CLIENT_ERROR, SERVER_ERROR, SUCCESS, type Completion } from '../../limits/model/usage-cell.js';
import type { UsageRecorder } from '../../usage/usage-recorder.js';
import { formatUtc } from '../../platform/rfc3339.js';
import type { EndedCallers } from './ended-callers.js';
import type { Exchange } from './exchange.js';

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
const LONGEST_PATH = 1_000;
/** Over HTTP/2 a method may be as long as a head. */
const LONGEST_METHOD = 32;
/** Status in the log for a client that left before it had its answer, as nginx writes it. */
const CLIENT_GONE = 499;
/** Switching protocols; the duration is that of the WebSocket. */
const UPGRADED = 101;

export class RequestLog {
  /** By operation and status: an array read instead of a look-up by text, for the requests that come most. */
  private readonly byOperation: HistogramSeries[][] = [];
  /** The same for requests that none was found for, by method. */
  private readonly withoutOperation = new Map<string, HistogramSeries[]>();
  private readonly refusals = new Map<ErrorCode, ValueSeries>();
  private readonly overhead = METRICS.requestOverhead.series();
  private readonly enabled: boolean;

  constructor(
    private readonly log: Log,
    private readonly recorder: UsageRecorder,
    private readonly endedCallers: Pick<EndedCallers, 'find'>,
  ) {
    this.enabled = log.logger.isLevelEnabled('info');
  }

  /**
   * Called once per request, when its connection is done with it.
   * @param answered status of the answer; 0: the client did not get all of it.
   */
  record(exchange: Exchange, answered: number): void {
    const { operation, message } = exchange;
    const status = exchange.isUpgraded ? UPGRADED : answered === 0 ? CLIENT_GONE : answered;
    this.recorder.end(exchange, completionOf(status));
    const durationMs = performance.now() - exchange.startedMs;
    this.durationOf(message.method ?? '', operation, status).observe(durationMs / 1_000);
    if (exchange.upstreamMs >= 0 && answered !== 0 && !exchange.isUpgraded && !exchange.isStreamed) {
      this.overhead.observe((durationMs - exchange.upstreamMs) / 1_000);
    }
    if (exchange.problemCode !== '') {
      this.refusalsOf(exchange.problemCode as ErrorCode).inc();
    }
    if (exchange.ending === '' || operation === undefined) this.writeLine(exchange, exchange.key, status, durationMs);
    else this.recordEnding(exchange, operation, status, durationMs);
  }

  /** Whoever is refused because of an end has not been asked for a key yet. */
  private recordEnding(exchange: Exchange, operation: Operation, status: number, durationMs: number): void {
    const { ending } = exchange;
    if (ending === '') return;
    const end = (key: CachedKey | undefined): void => {
      METRICS.deprecatedRequests.series(operation.id, key?.record.accountId ?? '', ending).inc();
      this.writeLine(exchange, key, status, durationMs);
    };
    const caller = ending === 'deprecated' ? exchange.key : this.endedCallers.find(exchange);
    if (caller instanceof Promise) void caller.then(end);
    else end(caller);
  }

  private writeLine(exchange: Exchange, key: CachedKey | undefined, status: number, durationMs: number): void {
    if (this.enabled) this.log.write(line(exchange, key, status, durationMs));
  }

  private durationOf(method: string, operation: Operation | undefined, status: number): HistogramSeries {
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

  private refusalsOf(code: ErrorCode): ValueSeries {
    let series = this.refusals.get(code);
    if (series === undefined) this.refusals.set(code, (series = METRICS.refusals.series(code, ERRORS[code].fault)));
    return series;
  }
}

/** What a request that was admitted came to. */
function completionOf(status: number): Completion {
  if (status < 400) return SUCCESS;
  if (status === CLIENT_GONE) return ABORTED;
  return status < 500 ? CLIENT_ERROR : SERVER_ERROR;
}

/** Written by hand: everything but the path, the address and the operation's id is of our own making and needs no escaping. */
function line(exchange: Exchange, key: CachedKey | undefined, status: number, durationMs: number): string {
  const { operation, decision, message } = exchange;
  const path = withoutSecrets(exchange.path).slice(0, LONGEST_PATH);
  const who = key === undefined ? '' : `,"account_id":"${key.record.accountId}","api_key_id":"${key.record.keyId}"`;
  const where =
    operation === undefined ? '' : `,"operation":${JSON.stringify(operation.id)},"service":"${operation.service}"`;
  const quota = decision === undefined ? '' : `,"quota":"${decision.admitted ? 'admitted' : 'refused'}"`;
  const code = exchange.problemCode === '' ? '' : `,"code":"${exchange.problemCode}"`;
  const upstream = exchange.upstreamMs < 0 ? '' : `,"upstream_ms":${exchange.upstreamMs.toFixed(2)}`;
  return (
    `{"level":"info","time":"${formatUtc(systemClock.now())}","event":"request","request_id":"${exchange.requestId}",` +
    `"method":${JSON.stringify((message.method ?? '').slice(0, LONGEST_METHOD))},"path":${JSON.stringify(path)},"status":${status},` +
    `"duration_ms":${durationMs.toFixed(2)}${upstream}${who}${where}${quota}${code},` +
    `"client_address":${JSON.stringify(exchange.clientAddress)}}\n`
  );
}
