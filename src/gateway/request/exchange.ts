/** What the steps of the request path know of one request and hand on to each other. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Operation } from '../../config/model/schema.js';
import type { KnownKey } from '../../keys/known-key.js';
import type { Problem } from '../../problems/errors.js';
import type { ENDING_PHASES } from '../../platform/metrics.js';
import type { ClientAnswer, ClientMessage } from '../../http1/client/client-answer.js';
import type { Transaction } from '../../http1/client/plain-connection.js';
import type { CloseListener, ForwardClient } from '../../proxy/targets/forward-request.js';
import type { RouteMatch } from '../../proxy/routing/operation-table.js';
import type { QuotaDecision } from '../../limits/model/policies.js';
import type { QuotaSubject } from '../../limits/model/subject.js';
import { IN_FLIGHT, type CountedRequest, type UsageCell } from '../../limits/model/usage-cell.js';
import { randomNames, requestId, traceparent } from './request-ids.js';

/** How far the end of what was asked for has come; a value of a metric. */
export type EndingPhase = (typeof ENDING_PHASES)[number];

/** Who is told how an exchange goes on. */
export interface ExchangeOwner {
  /** @param status of the answer; 0: the client has gone before its end. */
  onEnd(exchange: Exchange, status: number): void;
  onHandedOver(exchange: Exchange, message: IncomingMessage, response: ServerResponse): void;
}

export class Exchange implements ForwardClient, CountedRequest, Transaction {
  readonly requestId: string;
  readonly startedMs = performance.now();
  /** Where the query begins in `url`; its length where there is none. */
  readonly pathEnd: number;
  /** Fields of every answer to this request, each line with its CRLF. The steps add to it. */
  answerLines: string;

  /** What the path leads to, where somebody has looked already. */
  match: RouteMatch | undefined;
  operation: Operation | undefined;
  key: KnownKey | undefined;
  subject: QuotaSubject | undefined;
  decision: QuotaDecision | undefined;
  /** Where the usage fields begin in `answerLines`. */
  quotaFieldsAt = 0;
  /** Why a guard said no, where it did not throw: a 429 comes by the thousand, and throwing is not free. */
  refusal: Problem | undefined;
  /** Code of the problem that it was answered with. */
  problemCode = '';
  /** What of its end was met: then it is counted who still asks. */
  ending: EndingPhase | '' = '';
  upstreamMs = -1;
  usage: UsageCell | undefined;
  usageCost = 0;
  usageOutcome = IN_FLIGHT;
  usageTakenBack = false;
  wasSent = false;
  isUpgraded = false;
  isStreamed = false;
  failedTarget = '';
  failedStatus = 0;
  closeListener: CloseListener | undefined;
  /** Told when nothing can be forwarded; set by whoever forwards. */
  whenFailed: ((exchange: Exchange, problem: Problem) => void) | undefined;
  private readonly names = randomNames();

  constructor(
    public message: ClientMessage,
    public answer: ClientAnswer,
    /** Path and query, as received. */
    readonly url: string,
    readonly clientAddress: string,
    /** What the client spoke to us, or to the trusted proxy before us. */
    readonly scheme: 'http' | 'https',
    private readonly owner: ExchangeOwner,
  ) {
    const offered = message.headers['x-request-id'];
    this.requestId = requestId(typeof offered === 'string' ? offered : undefined, this.names);
    const query = url.indexOf('?');
    this.pathEnd = query === -1 ? url.length : query;
    this.answerLines = `X-Request-Id: ${this.requestId}\r\n`;
  }

  onFailed(problem: Problem): void {
    this.whenFailed?.(this, problem);
  }

  /** For what cannot be written whole; see `ClientAnswer`. */
  get response(): ServerResponse {
    return this.answer.response;
  }

  /** The request as Node has it: only that can have a body. */
  get incoming(): IncomingMessage {
    void this.answer.response;
    return this.message as IncomingMessage;
  }

  onEnd(status: number): void {
    this.owner.onEnd(this, status);
  }

  onHandedOver(message: IncomingMessage, response: ServerResponse): void {
    this.owner.onHandedOver(this, message, response);
  }

  /** The path without the query. */
  get path(): string {
    return this.url.slice(0, this.pathEnd);
  }

  /** The trace context to send on. */
  get traceparent(): string {
    const offered = this.message.headers['traceparent'];
    return traceparent(typeof offered === 'string' ? offered : undefined, this.names);
  }
}

/** Node's answer to a request, with what is known of that. */
export interface ExchangeResponse extends ServerResponse {
  exchange?: Exchange;
}

/** A request of the gateway's application: Fastify's, with the exchange that the first hook made. */
export interface GatewayRequest extends FastifyRequest {
  exchange: Exchange;
}

export type GatewayReply = FastifyReply;
