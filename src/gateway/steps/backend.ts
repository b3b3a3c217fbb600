/**
 * Forwards admitted requests to their backend, after the admission steps. Refunds requests that were not sent or are
 * not charged.
 */
import type { ErrorPages } from '../../platform/problems/error-pages.js';
import { Problem } from '../../platform/problems/errors.js';
import type { ClientMessage } from '../../http/client/client-response.js';
import { linesOfMessage } from '../../http/client/plain-request.js';
import type { Forwarder } from '../../proxy/calls/forwarder.js';
import { forwardsLeft, decrementMaxForwards } from '../../proxy/fields/max-forwards.js';
import { proxyStatusOf, type ProxyStatus } from '../../proxy/calls/proxy-status.js';
import { backendRequestHeaders } from '../../proxy/fields/request-headers.js';
import type { ForwardRequest, IdempotencyContext } from '../../proxy/targets/forward-request.js';
import type { KeyClaim } from '../../idempotency/key-claim.js';
import { problemResponse } from '../request/write-problem.js';
import { withoutCost } from '../../quota/model/decision.js';
import { quotaLines } from '../../quota/model/headers.js';
import type { Limiter } from '../../quota/limiter.js';
import type { UsageRecorder } from '../../quota/usage/usage-recorder.js';
import type { Cors } from '../request/cors.js';
import type { ErrorFilter } from '../request/error.filter.js';
import type { Exchange } from '../request/exchange.js';
import { Replays } from './replays.js';
import type { Routes } from '../../admission/routes.js';
import { upgradeHead } from '../request/upgrade-heads.js';

/** BackendParts holds the dependencies of `Backend`. */
export interface BackendParts {
  readonly forwarder: Forwarder;
  readonly routes: Routes;
  readonly quotas: Limiter;
  readonly recorder: UsageRecorder;
  readonly cors: Cors;
  readonly proxyStatus: ProxyStatus;
  readonly filter: ErrorFilter;
  readonly errorPages: ErrorPages;
}

/** Backend forwards admitted requests, and replays stored responses. */
export class Backend {
  private readonly forwarder: Forwarder;
  private readonly routes: Routes;
  private readonly quotas: Limiter;
  private readonly recorder: UsageRecorder;
  private readonly cors: Cors;
  private readonly proxyStatus: ProxyStatus;
  private readonly filter: ErrorFilter;
  private readonly errorPages: ErrorPages;
  private readonly replays: Replays;

  constructor(parts: BackendParts) {
    this.forwarder = parts.forwarder;
    this.routes = parts.routes;
    this.quotas = parts.quotas;
    this.recorder = parts.recorder;
    this.cors = parts.cors;
    this.proxyStatus = parts.proxyStatus;
    this.filter = parts.filter;
    this.errorPages = parts.errorPages;
    this.replays = new Replays(parts.filter);
  }

  /**
   * Streams the backend's response to the client, or responds with a problem. If there is a stored response for the
   * `Idempotency-Key`, responds with that instead. Does not send the request if the client has disconnected. Refunds
   * requests that were not sent, and failures that the plan does not charge for.
   * @throws Problem `internal_error` if the request has no operation or key
   */
  forward(exchange: Exchange): void {
    const { operation, key, keyed, message, response, clientAddress, scheme, requestId } = exchange;
    if (operation === undefined || key === undefined) throw new Problem('internal_error');
    // The client disconnected during the key lookup or quota decision. Nothing would abort a backend call that starts
    // now.
    if (response.isGone || clientAddress === '') {
      this.refund(exchange);
      if (keyed?.isReplay === false) keyed.release();
      // Otherwise, a connection that was reset before its address was read would emit no `close` event.
      response.destroy();
      return;
    }
    if (keyed?.isReplay === true) {
      this.replays.respond(exchange, keyed, this.forwarder.uploadBounds(operation));
      return;
    }
    const { accountId, keyId } = key.record;
    const basePath = this.routes.basePathOf(operation);
    const fieldLines = backendRequestHeaders(linesFor(message), {
      accountId,
      keyId,
      scopes: key.scopeSet.text,
      requestId,
      traceparent: exchange.traceparent,
      clientAddress,
      scheme,
      host: message.headers.host ?? '',
      prefix: basePath,
      httpVersion: message.httpVersion,
    });
    exchange.whenFailed = this.onFailed;
    const forward: ForwardRequest = {
      operation,
      accountId,
      message,
      path: exchange.url.slice(basePath.length),
      basePath,
      fieldLines,
      ownCors: this.cors.enabled,
      client: exchange,
    };
    if (keyed !== undefined) forward.idempotency = this.idempotencyContext(exchange, keyed);
    try {
      const head = operation.isWebSocket === true ? upgradeHead(message) : undefined;
      if (head === undefined) this.forwarder.forward(forward);
      else this.forwarder.upgrade(forward, head);
    } catch (error) {
      this.onFailed(exchange, error);
    }
  }

  private idempotencyContext({ requestId }: Exchange, claim: KeyClaim): IdempotencyContext {
    return { claim, problemResponse: (problem) => problemResponse(problem, requestId, this.errorPages) };
  }

  /**
   * Handles a failed backend call. Refunds the request if nothing was sent or the failure is free, and responds with
   * the problem.
   */
  private readonly onFailed = (exchange: Exchange, error: unknown): void => {
    const isFree = error instanceof Problem && !isCharged(exchange, error.status);
    if (!exchange.wasSent || isFree) this.refund(exchange);
    if (this.proxyStatus.isOn && error instanceof Problem) {
      exchange.proxyStatusLine = `Proxy-Status: ${proxyStatusOf(error, exchange)}\r\n`;
    }
    this.filter.respond(error, exchange);
  };

  private refund(exchange: Exchange): void {
    const { subject, decision } = exchange;
    if (subject === undefined || decision === undefined) return;
    this.recorder.trackRefund(exchange, this.quotas.refund(subject, decision));
    // Include the refund in the remaining limits of the response.
    exchange.quotaLines = quotaLines(subject, withoutCost(decision));
  }
}

/** Returns the client's field lines for the backend, with `Max-Forwards` decremented. */
function linesFor(message: ClientMessage): string {
  const lines = linesOfMessage(message);
  const left = forwardsLeft(message);
  return left === undefined ? lines : decrementMaxForwards(lines, left);
}

/**
 * Reports whether the plan charges for a failed request (status 400 and above). Failures with 502, 503 and 504 are
 * free, because the backend did not respond to the caller. Other failures are free if the plan charges only for
 * successes. A client that has disconnected is charged, because otherwise disconnecting early would make requests free.
 */
function isCharged({ subject, response }: Exchange, status: number): boolean {
  if (status === 502 || status === 503 || status === 504) return false;
  return subject?.charge !== 'successes' || response.isGone;
}
