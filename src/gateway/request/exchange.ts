/** Defines the exchange: the state of one request, which the steps, the forwarder and the response writers share. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EndingPhase } from '../../admission/admission-request.js';
import type { EndpointRequest } from '../../admission/mounted/endpoint-request.js';
import type { RequestSource } from '../../admission/mounted/request-source.js';
import { tokenAuthenticatorOf, type TokenAuthenticator } from '../../keys/clients/token-authenticator.js';
import { isUnknownProxy } from '../../admission/unknown-proxy.js';
import type { Operation } from '../../config/model/schema.js';
import type { Keyed } from '../../idempotency/key-claim.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Problem } from '../../platform/problems/errors.js';
import type { ClientMessage, ClientResponse } from '../../http/client/client-response.js';
import type { HttpDate } from '../../http/client/http-date.js';
import { fieldValue } from '../../http/grammar/fields.js';
import { PlainRequest } from '../../http/client/plain-request.js';
import type { Transaction } from '../../http/client/plain-connection.js';
import type { CloseListener, ForwardClient, ResponseCaller } from '../../proxy/targets/forward-request.js';
import type { RouteMatch } from '../../proxy/routing/operation-table.js';
import { withoutLongReset } from '../../quota/model/headers.js';
import type { QuotaDecision } from '../../quota/model/policies.js';
import type { QuotaSubject } from '../../quota/model/subject.js';
import { IN_FLIGHT, type Completion, type UsageCell } from '../../quota/model/usage-cell.js';
import { isHttp2 } from './framing.js';
import { closeAfterResponse } from './last-response.js';
import { continuedTrace, parseTraceparent, randomIdDigits, requestId } from './request-ids.js';
import type { RequestTrace } from './request-trace.js';

/**
 * Value of `Exchange.rawHeaders` for plain requests. The steps search these headers only for repeated fields. A request
 * that repeats a field that the gateway reads is not plain.
 */
const NO_REPEATED_FIELDS: readonly string[] = [];

/** TraceBeginner begins or continues the trace of a request. */
export interface TraceBeginner {
  begin(exchange: Exchange): RequestTrace;
}

/** ExchangeOwner handles the end and the handover of exchanges. */
export interface ExchangeOwner {
  readonly date: HttpDate;
  /** Begins the traces of requests. Undefined without `tracing`. */
  readonly tracer?: TraceBeginner | undefined;
  /**
   * Called when the response has ended.
   * @param status status of the response; 0 if the client disconnected before the end of the response
   */
  onEnd(exchange: Exchange, status: number): void;
  /**
   * Called when Node takes over the connection. Node's objects must then replace `message` and `response` of the
   * exchange.
   */
  onHandedOver(exchange: Exchange, message: IncomingMessage, response: ServerResponse): void;
}

export class Exchange implements ForwardClient, EndpointRequest, Transaction {
  readonly requestId: string;
  readonly startedMs = performance.now();
  /** Offset of the `?` in `url`. Length of `url` if there is no query. */
  readonly pathEnd: number;

  // Field lines for every response. Each line ends with CRLF. `responseLines` joins them in this order.
  /** The HSTS field. Set when the request arrives over HTTPS. */
  secureLines = '';
  /** Fields that allow pages to read the response. Set by `Cors` or by a mounted endpoint. */
  corsLines = '';
  /** Deprecation and sunset dates. Set by the route step. */
  endingLines = '';
  /** Remaining limits. Set by the quota step or by `QuotaReport`, and updated after a refund. */
  quotaLines = '';
  /** The `Proxy-Status` field. Set when forwarding fails. */
  proxyStatusLine = '';

  // Set by routing and by the route step.
  /**
   * Result of routing. Set by the fast path or for an inner call. Undefined until then, and for requests through Nest's
   * router.
   */
  match: RouteMatch | undefined;
  operation: Operation | undefined;
  /**
   * Deprecation phase of the operation; empty if there is none. `RequestEnd` counts requests with a phase by account.
   */
  ending: EndingPhase | '' = '';

  /** Source of requests to the MCP server and of the API calls by its tools. Undefined for other API requests. */
  source: RequestSource | undefined;
  /** Receiver of the response to an inner call. Undefined for client requests. See `ForwardClient`. */
  caller: ResponseCaller | undefined;

  // Set by the key step.
  key: CachedKey | undefined;
  subject: QuotaSubject | undefined;

  // Set by the idempotency step if there is an `Idempotency-Key`.
  keyed: Keyed | undefined;

  // Set by the quota step.
  decision: QuotaDecision | undefined;

  // Set when the request is refused or fails.
  /**
   * Error of the step that refused the request. Steps set this field instead of throwing, because throwing is slow and
   * 429 is frequent.
   */
  refusal: Problem | undefined;
  /** Code of the problem in the response; empty if the response is not a problem. */
  problemCode = '';

  // Set by the forwarder; see `ForwardClient`.
  wasSent = false;
  upstreamMs = -1;
  bytesIn = 0;
  bytesOut = 0;
  isStreamed = false;
  isUpgraded = false;
  isUploadCut = false;
  failedTarget = '';
  failedStatus = 0;
  closeListener: CloseListener | undefined;
  /** Handler of a failed backend call. Set by `Backend` before it forwards the request. */
  whenFailed: ((exchange: Exchange, problem: Problem) => void) | undefined;

  private currentTrace: RequestTrace | undefined;

  // Set by the usage recorder; see `CountedRequest`.
  usage: UsageCell | undefined;
  usageCost = 0;
  completion: Completion = IN_FLIGHT;
  usageRefunded = false;

  constructor(
    public message: ClientMessage,
    public response: ClientResponse,
    /** Path and query, as received. The scheme and authority of an absolute target are removed. */
    readonly url: string,
    readonly clientAddress: string,
    /** Scheme that the client used to reach the gateway, or to reach the trusted proxy. */
    readonly scheme: 'http' | 'https',
    private readonly owner: ExchangeOwner,
    readonly idDigits = randomIdDigits(),
  ) {
    const offered = message.headers['x-request-id'];
    this.requestId = requestId(typeof offered === 'string' ? offered : undefined, idDigits);
    const query = url.indexOf('?');
    this.pathEnd = query === -1 ? url.length : query;
  }

  /**
   * Field lines for every response to this request. Read this property when the head is written, because steps add
   * lines until then.
   */
  get responseLines(): string {
    return this.linesWith(this.quotaLines);
  }

  /** Field lines for a problem response. A reset time that is longer than a client should wait is omitted. */
  get problemLines(): string {
    return this.linesWith(withoutLongReset(this.quotaLines));
  }

  /** Joins the field lines. Empty parts cost nothing, because V8 then returns the other string unchanged. */
  private linesWith(quotaLines: string): string {
    const { secureLines, corsLines, endingLines, proxyStatusLine } = this;
    return `X-Request-Id: ${this.requestId}\r\n${secureLines}${corsLines}${endingLines}${quotaLines}${proxyStatusLine}`;
  }

  get dateLine(): string {
    return this.owner.date.line;
  }

  onUploadCut(): void {
    this.isUploadCut = true;
    const { message, response } = this;
    // An HTTP/2 body has its own stream, so the connection can stay open.
    if (message.complete || isHttp2(message)) return;
    response.endConnection();
    closeAfterResponse(this.incoming, response.nodeResponse);
  }

  onFailed(problem: Problem): void {
    this.whenFailed?.(this, problem);
  }

  /**
   * Node's response, for responses that cannot be written in one piece. Reading this property hands the connection over
   * to Node; see `ClientResponse`.
   */
  get nodeResponse(): ServerResponse {
    return this.response.nodeResponse;
  }

  /**
   * Node's request, for reading the body as a stream. Reading this property hands the connection over to Node, as
   * reading `nodeResponse` does.
   */
  get incoming(): IncomingMessage {
    void this.response.nodeResponse;
    return this.message as IncomingMessage;
  }

  onEnd(status: number): void {
    this.owner.onEnd(this, status);
  }

  onHandedOver(message: IncomingMessage, response: ServerResponse): void {
    this.owner.onHandedOver(this, message, response);
  }

  get method(): string | undefined {
    return this.message.method;
  }

  get authorization(): string | undefined {
    return this.message.headers.authorization;
  }

  get rawHeaders(): readonly string[] {
    const { message } = this;
    return message instanceof PlainRequest ? NO_REPEATED_FIELDS : message.rawHeaders;
  }

  get idempotencyField(): string | undefined {
    return this.message.headers['idempotency-key'];
  }

  get contentType(): string | undefined {
    const { message } = this;
    // The plain parser does not store this field in `headers`.
    return message instanceof PlainRequest
      ? fieldValue(message.rawHeaders, 'content-type')
      : message.headers['content-type'];
  }

  get tokenAuthenticator(): TokenAuthenticator | undefined {
    return tokenAuthenticatorOf(this.message);
  }

  get isFromUnknownProxy(): boolean {
    return isUnknownProxy(this.message, this.clientAddress);
  }

  /** Path of the request without the query. */
  get path(): string {
    return this.url.slice(0, this.pathEnd);
  }

  /** `traceparent` for the backend; empty if there is none. */
  get traceparent(): string {
    return this.trace?.traceparent ?? continuedTrace(this.message.headers['traceparent'], this.idDigits);
  }

  /** ID of the trace of the request; empty if there is none. */
  get traceId(): string {
    return this.trace?.traceId ?? parseTraceparent(this.message.headers['traceparent'])?.traceId ?? '';
  }

  /** Trace of the request, which begins when this property is first read. Undefined without `tracing`. */
  get trace(): RequestTrace | undefined {
    return (this.currentTrace ??= this.owner.tracer?.begin(this));
  }
}

/** ExchangeResponse is Node's response with its exchange. */
export interface ExchangeResponse extends ServerResponse {
  exchange?: Exchange;
}

/**
 * Returns the exchange of a response object of Node.
 * @throws Error if the request bypassed the entrance
 */
export function exchangeOf(response: object): Exchange {
  const { exchange } = response as ExchangeResponse;
  if (exchange === undefined) throw new Error('a request bypassed the entrance');
  return exchange;
}

/** GatewayRequest is a Fastify request with its exchange, which the `onRequest` hook sets. */
export interface GatewayRequest extends FastifyRequest {
  exchange: Exchange;
}

export type GatewayReply = FastifyReply;
