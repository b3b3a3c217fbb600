/** Records the end of every request: its usage, request log, metrics, trace and log line. */
import type { Operation } from '../../config/model/schema.js';
import { DeniedKey } from '../../keys/authenticator.js';
import type { CachedKey } from '../../keys/cached-key.js';
import { ABORTED, CLIENT_ERROR, SERVER_ERROR, SUCCESS, type Completion } from '../../quota/model/usage-cell.js';
import type { Clock } from '../../platform/clock.js';
import type { Log } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import type { ErrorCode } from '../../platform/problems/errors.js';
import type { RequestLogRecorder } from '../../request-logs/recorder.js';
import type { UsageRecorder } from '../../quota/usage/usage-recorder.js';
import type { EndedCallers } from './ended-callers.js';
import type { Exchange } from './exchange.js';
import type { RequestLines } from './request-lines.js';
import { RequestMetrics } from './request-metrics.js';
import type { Tracer } from './tracing.js';

/** Status in logs and metrics for a client that disconnected before the end of its response, as in nginx. */
const CLIENT_GONE = 499;
/** Status in logs and metrics for a WebSocket (Switching Protocols). The duration is that of the WebSocket. */
const UPGRADED = 101;

/**
 * RequestEnd records finished requests. MCP requests with an inner call are not recorded, because the inner call is.
 */
export class RequestEnd {
  private readonly metrics = new RequestMetrics();
  private readonly logs: boolean;

  constructor(
    private readonly log: Log,
    private readonly recorder: UsageRecorder,
    private readonly requestLogs: Pick<RequestLogRecorder, 'record'>,
    private readonly endedCallers: Pick<EndedCallers, 'find' | 'findUnusable'>,
    private readonly clock: Clock,
    private readonly lines: RequestLines,
    private readonly tracer?: Tracer,
  ) {
    this.logs = log.logger.isLevelEnabled('info');
  }

  /**
   * Records a request. Must be called once, when the response has closed.
   * @param sent status of the response; 0 if the client did not receive the complete response
   */
  end(exchange: Exchange, sent: number): void {
    // The inner call of this MCP request is recorded instead.
    if (exchange.source?.isCarrier === true) return;
    const { metrics } = this;
    const { operation, isUpgraded, isStreamed, upstreamMs, problemCode } = exchange;
    const status = isUpgraded ? UPGRADED : sent === 0 ? CLIENT_GONE : sent;
    this.recorder.recordEnd(exchange, completionOf(status));
    const durationMs = performance.now() - exchange.startedMs;
    const trace = this.tracer?.end(exchange, status, durationMs, this.clock.now());
    metrics.durationOf(exchange.method ?? '', operation, status).observe(durationMs / 1_000, trace);
    if (upstreamMs >= 0 && sent !== 0 && !isUpgraded && !isStreamed) {
      metrics.overhead.observe((durationMs - upstreamMs) / 1_000, trace);
    }
    if (problemCode !== '') metrics.refusalsOf(problemCode as ErrorCode).inc();
    if (exchange.ending === '' || operation === undefined) this.writeLogs(exchange, exchange.key, status, durationMs);
    else this.endOfEnding(exchange, operation, status, durationMs);
  }

  /**
   * Counts a request to a deprecated operation by account, and writes its logs. A request that was refused because of a
   * sunset or brownout was not authenticated, so its key is looked up first.
   */
  private endOfEnding(exchange: Exchange, operation: Operation, status: number, durationMs: number): void {
    const { ending } = exchange;
    if (ending === '') return;
    const end = (key: CachedKey | undefined): void => {
      METRICS.deprecatedRequests.series(operation.id, key?.record.accountId ?? '', ending).inc();
      this.writeLogs(exchange, key, status, durationMs);
    };
    const caller = ending === 'deprecated' ? exchange.key : this.endedCallers.find(exchange);
    if (caller instanceof Promise) void caller.then(end);
    else end(caller);
  }

  private writeLogs(exchange: Exchange, key: CachedKey | undefined, status: number, durationMs: number): void {
    const owner = key ?? (exchange.problemCode === '' ? undefined : this.refusedKey(exchange));
    const nowMs = this.clock.now();
    if (owner !== undefined) this.requestLogs.record(exchange, owner.accountId, owner.keyId, status, durationMs, nowMs);
    if (this.logs && this.lines.logs(status)) {
      this.log.write(this.lines.format(exchange, key, status, durationMs, nowMs));
    }
  }

  /**
   * Returns the key of a request that was refused because of the state of its key. Returns undefined for other
   * refusals, or if the key is unknown.
   */
  private refusedKey(exchange: Exchange): CachedKey | undefined {
    const { problemCode, refusal } = exchange;
    if (refusal instanceof DeniedKey) return refusal.key;
    const isUnusable = problemCode === 'revoked_api_key' || problemCode === 'expired_api_key';
    return isUnusable ? this.endedCallers.findUnusable(exchange) : undefined;
  }
}

/** Returns the outcome of a request for the usage statistics, by its status. */
function completionOf(status: number): Completion {
  if (status < 400) return SUCCESS;
  if (status === CLIENT_GONE) return ABORTED;
  return status < 500 ? CLIENT_ERROR : SERVER_ERROR;
}
