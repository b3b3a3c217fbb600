/** What the steps of the request path know of one request and hand on to each other. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EndingPhase } from '../../admission/admission-request.js';
import type { DoorRequest } from '../../admission/doors/door-request.js';
import type { RequestSource } from '../../admission/doors/request-source.js';
import { tokenDoorOf, type TokenDoor } from '../../keys/clients/token-door.js';
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
import type { CloseListener, ForwardClient } from '../../proxy/targets/forward-request.js';
import type { RouteMatch } from '../../proxy/routing/operation-table.js';
import { withoutLongReset } from '../../quota/model/headers.js';
import type { QuotaDecision } from '../../quota/model/policies.js';
import type { QuotaSubject } from '../../quota/model/subject.js';
import { IN_FLIGHT, type Completion, type UsageCell } from '../../quota/model/usage-cell.js';
import { isHttp2 } from './framing.js';
import { endBehindResponse } from './last-response.js';
import { continuedTrace, randomNames, requestId } from './request-ids.js';

/** A request that has been read by hand has no two headers of a name that matters. */
const NONE_TWICE: readonly string[] = [];

/** Who is told how an exchange goes on. */
export interface ExchangeOwner {
  readonly date: HttpDate;
  /** @param status of the response; 0: the client has gone before its end. */
  onEnd(exchange: Exchange, status: number): void;
  onHandedOver(exchange: Exchange, message: IncomingMessage, response: ServerResponse): void;
}

export class Exchange implements ForwardClient, DoorRequest, Transaction {
  readonly requestId: string;
  readonly startedMs = performance.now();
  /** Where the query begins in `url`; its length where there is none. */
  readonly pathEnd: number;

  // Fields of every response to this request, each line with its CRLF; `responseLines` joins them in this order.
  /** Set by arrivals, over HTTPS. */
  secureLines = '';
  /** Set by CORS: which pages may read the response. */
  corsLines = '';
  /** Set by the route: the dates of an end. */
  endingLines = '';
  /** Set by the quota or its report, and once more by a refund: what is left. */
  quotaLines = '';
  /** Set by whoever forwards, when that has failed. */
  proxyStatusLine = '';

  // Set by the route.
  /** What the path leads to, where somebody has looked already. */
  match: RouteMatch | undefined;
  operation: Operation | undefined;
  /** What of its end was met: then it is counted who still asks. */
  ending: EndingPhase | '' = '';

  /** Set by the door that it came in by; undefined for a request of the API. */
  source: RequestSource | undefined;

  // Set by the key.
  key: CachedKey | undefined;
  subject: QuotaSubject | undefined;

  // Set by its `Idempotency-Key`, if it has one.
  keyed: Keyed | undefined;

  // Set by the quota.
  decision: QuotaDecision | undefined;

  // Set by whichever step refuses, and by whoever writes the problem.
  /** Why a step said no, where it did not throw: a 429 comes by the thousand, and throwing is not free. */
  refusal: Problem | undefined;
  /** Code of the problem that the client was told. */
  problemCode = '';

  // Set by whoever forwards; see `ForwardClient`.
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
  /** Told when nothing can be forwarded. */
  whenFailed: ((exchange: Exchange, problem: Problem) => void) | undefined;

  // Set by the recorder of usage; see `CountedRequest`.
  usage: UsageCell | undefined;
  usageCost = 0;
  completion: Completion = IN_FLIGHT;
  usageRefunded = false;

  constructor(
    public message: ClientMessage,
    public response: ClientResponse,
    /** Path and query, as received. */
    readonly url: string,
    readonly clientAddress: string,
    /** What the client spoke to us, or to the trusted proxy before us. */
    readonly scheme: 'http' | 'https',
    private readonly owner: ExchangeOwner,
    readonly names = randomNames(),
  ) {
    const offered = message.headers['x-request-id'];
    this.requestId = requestId(typeof offered === 'string' ? offered : undefined, names);
    const query = url.indexOf('?');
    this.pathEnd = query === -1 ? url.length : query;
  }

  /**
   * Field lines that every response to this request carries, as far as they are known: to be asked for when its head is
   * written.
   */
  get responseLines(): string {
    return this.linesWith(this.quotaLines);
  }

  /** The same for a problem: without the time of a reset that is further away than a client is asked to wait. */
  get problemLines(): string {
    return this.linesWith(withoutLongReset(this.quotaLines));
  }

  /** Segments that are empty cost nothing: what is joined with nothing stays the same string. */
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
    // In HTTP/2 the body has a stream of its own.
    if (message.complete || isHttp2(message)) return;
    response.endConnection();
    endBehindResponse(this.incoming, response.nodeResponse);
  }

  onFailed(problem: Problem): void {
    this.whenFailed?.(this, problem);
  }

  /** For what cannot be written whole; see `ClientResponse`. */
  get nodeResponse(): ServerResponse {
    return this.response.nodeResponse;
  }

  /** The request as Node has it: only that can have a body. */
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
    return message instanceof PlainRequest ? NONE_TWICE : message.rawHeaders;
  }

  get idempotencyField(): string | undefined {
    return this.message.headers['idempotency-key'];
  }

  get contentType(): string | undefined {
    const { message } = this;
    // Kept of a plain request as it was sent: nobody else asks for it.
    return message instanceof PlainRequest
      ? fieldValue(message.rawHeaders, 'content-type')
      : message.headers['content-type'];
  }

  get tokenDoor(): TokenDoor | undefined {
    return tokenDoorOf(this.message);
  }

  get isFromUnknownProxy(): boolean {
    return isUnknownProxy(this.message, this.clientAddress);
  }

  /** The path without the query. */
  get path(): string {
    return this.url.slice(0, this.pathEnd);
  }

  /** The trace context for the backend; empty if the client sent none that is valid. */
  get traceparent(): string {
    const offered = this.message.headers['traceparent'];
    return continuedTrace(typeof offered === 'string' ? offered : undefined, this.names);
  }
}

/** Node's response to a request, with what is known of that. */
export interface ExchangeResponse extends ServerResponse {
  exchange?: Exchange;
}

/** The exchange of a response that Node writes. @throws Error for one that has not come in by the entrance. */
export function exchangeOf(response: object): Exchange {
  const { exchange } = response as ExchangeResponse;
  if (exchange === undefined) throw new Error('a request has come past the entrance');
  return exchange;
}

/** A request of the gateway's application: Fastify's, with the exchange that the first hook made. */
export interface GatewayRequest extends FastifyRequest {
  exchange: Exchange;
}

export type GatewayReply = FastifyReply;
