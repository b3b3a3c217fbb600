/**
 * Creates the spans of requests if `tracing` is configured: for the request, its key check, its quota decision and its
 * backend call.
 */
import { randomBytes } from 'node:crypto';
import type { AdmissionRequest } from '../../admission/admission-request.js';
import type { Step } from '../../admission/step.js';
import type { Operation } from '../../config/model/schema.js';
import type { Steps } from '../../admission/steps.js';
import type { PreviewedRequest } from '../../admission/previewed-request.js';
import type { ObservedTrace } from '../../platform/metrics/family.js';
import type { Problem } from '../../platform/problems/errors.js';
import { SPAN_KIND, type Span, type SpanExporter } from '../../platform/span-exporter.js';
import type { ResultReceiver } from '../../platform/callbacks.js';
import type { Exchange } from './exchange.js';
import { loggedMethod, loggedPath } from './log-line.js';
import { parseTraceparent, SAMPLED, spanIdOf } from './request-ids.js';
import { RequestTrace } from './request-trace.js';

const FIRST_ERROR = 500;
/**
 * Number of hex digits in the random part of a trace ID, its last 56 bits (W3C Trace Context, level 2). Sampling
 * compares these bits with the share. All nodes with the same share therefore make the same decision for a trace.
 */
const RANDOM_DIGITS = 14;
const RANDOM_VALUES = 2 ** 56;

/** Tracer begins the traces of requests, and exports the spans of sampled and failed requests. */
export class Tracer {
  /**
   * @param share fraction of the requests that are exported, 0 to 1
   * @param followsCallers whether the sampling decision of a caller replaces the share
   */
  constructor(
    private readonly share: number,
    private readonly followsCallers: boolean,
    private readonly exporter: Pick<SpanExporter, 'add'>,
  ) {}

  /** Continues the trace of the caller. Begins a new trace if the caller sent none. */
  begin({ message, idDigits }: Pick<Exchange, 'message' | 'idDigits'>): RequestTrace {
    const caller = parseTraceparent(message.headers['traceparent']);
    const traceId = caller?.traceId ?? randomBytes(16).toString('hex');
    const decides = caller !== undefined && this.followsCallers;
    const isSampled = decides ? (caller.flags & SAMPLED) === SAMPLED : this.samples(traceId);
    return new RequestTrace(traceId, caller?.parentId ?? '', spanIdOf(idDigits), isSampled);
  }

  /**
   * Exports the spans of a finished request if the request is sampled or its status is 500 or above. Returns the trace
   * of the request, or undefined if nothing was exported.
   * @param endedMs end of the request, in ms since the epoch
   */
  end(exchange: Exchange, status: number, durationMs: number, endedMs: number): ObservedTrace | undefined {
    const { trace } = exchange;
    if (trace === undefined || (!trace.isSampled && status < FIRST_ERROR)) return undefined;
    this.exporter.add(spansOf(exchange, trace, status, endedMs - durationMs, endedMs));
    return { traceId: trace.traceId, timeMs: endedMs };
  }

  private samples(traceId: string): boolean {
    return Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) < this.share * RANDOM_VALUES;
  }
}

/**
 * Wraps the key and quota steps to record their times. Without tracing, don't call this function, so that steps run
 * unwrapped.
 */
export function timedSteps(steps: Steps): Steps {
  return { ...steps, key: new TimedStep('key check', steps.key), quota: new TimedStep('quota decision', steps.quota) };
}

class TimedStep implements Step {
  constructor(
    private readonly name: string,
    private readonly step: Step,
  ) {}

  check(request: AdmissionRequest, waiting: ResultReceiver<unknown>): boolean | undefined {
    const { trace } = request as Exchange;
    trace?.beginStep(this.name);
    const mayPass = this.step.check(request, waiting);
    if (mayPass !== undefined) trace?.endStep();
    return mayPass;
  }

  conclude(request: AdmissionRequest, late: unknown): boolean {
    const mayPass = this.step.conclude(request, late);
    (request as Exchange).trace?.endStep();
    return mayPass;
  }

  preview(request: PreviewedRequest): Problem | undefined | Promise<Problem | undefined> {
    return this.step.preview(request);
  }
}

/**
 * Builds the spans of a request.
 * @param startMs start of the request, in ms since the epoch; `endMs` is its end
 */
function spansOf(exchange: Exchange, trace: RequestTrace, status: number, startMs: number, endMs: number): Span[] {
  const { operation, key, decision, startedMs, upstreamMs, problemCode, requestId, scheme } = exchange;
  const { traceId, parentId, backendSpanId, steps } = trace;
  const method = loggedMethod(exchange);
  const isError = status >= FIRST_ERROR;
  const epochOf = (ms: number): number => startMs + ms - startedMs;
  const code = problemCode === '' ? undefined : problemCode;
  const server: Span = {
    traceId,
    spanId: newSpanId(),
    parentId,
    name: operation === undefined ? method : `${method} ${routeOf(operation)}`,
    kind: SPAN_KIND.server,
    startMs,
    endMs,
    isError,
    attributes: {
      'http.request.method': method,
      'http.route': operation === undefined ? undefined : routeOf(operation),
      'http.response.status_code': status,
      'url.path': loggedPath(exchange),
      'url.scheme': scheme,
      'error.type': isError ? (code ?? String(status)) : undefined,
      'trailgate.code': code,
      'trailgate.request_id': requestId,
      'trailgate.operation': operation?.id,
      'trailgate.account_id': key?.record.accountId,
      'trailgate.api_key_id': key?.record.keyId,
      'trailgate.quota': decision === undefined ? undefined : decision.admitted ? 'admitted' : 'refused',
    },
  };
  const child = { traceId, parentId: server.spanId, isError: false, attributes: {} };
  const spans = steps.map((step): Span => {
    const stepEndMs = step.endMs === 0 ? endMs : epochOf(step.endMs);
    const spanId = newSpanId();
    return {
      ...child,
      spanId,
      name: step.name,
      kind: SPAN_KIND.internal,
      startMs: epochOf(step.startMs),
      endMs: stepEndMs,
    };
  });
  if (upstreamMs >= 0 && operation !== undefined) {
    // The backend call begins after the last timed step.
    const calledMs = epochOf(steps.at(-1)?.endMs ?? startedMs);
    spans.push({
      ...child,
      spanId: backendSpanId,
      name: method,
      kind: SPAN_KIND.client,
      startMs: calledMs,
      endMs: Math.min(endMs, calledMs + upstreamMs),
      isError,
      attributes: { 'http.request.method': method, 'peer.service': operation.service },
    });
  }
  return [server, ...spans];
}

function routeOf({ route, template }: Operation): string {
  return route ?? template;
}

function newSpanId(): string {
  return randomBytes(8).toString('hex');
}
