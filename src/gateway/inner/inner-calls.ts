/**
 * Runs inner calls: the API requests of MCP tool calls, without a connection. An inner call is an `Exchange` that
 * passes the same steps, backend call and recording as a client request.
 */
import type { InnerCall, InnerPath, InnerResponse, RunningCall } from '../../admission/mounted/inner-call.js';
import type { RequestSource } from '../../admission/mounted/request-source.js';
import type { Routes } from '../../admission/routes.js';
import type { Step } from '../../admission/step.js';
import { StepWalk, type WalkEnd } from '../../admission/step-walk.js';
import { inOrder, inOrderWithoutKey, type Steps } from '../../admission/steps.js';
import type { HttpDate } from '../../http/client/http-date.js';
import { NOT_OURS } from '../../proxy/routing/operation-table.js';
import { Exchange, type ExchangeOwner } from '../request/exchange.js';
import type { RequestEnd } from '../request/request-end.js';
import type { Tracer } from '../request/tracing.js';
import { InnerMessage } from './inner-message.js';
import { WholeResponse } from './inner-response.js';

/** InnerCallParts holds the dependencies of `InnerCalls`. */
export interface InnerCallParts {
  readonly routes: Pick<Routes, 'matchOwn'>;
  readonly steps: Steps;
  readonly end: WalkEnd<Exchange>;
  readonly requestEnd: Pick<RequestEnd, 'end'>;
  readonly date: HttpDate;
  readonly tracer: Tracer | undefined;
}

/** Walks holds the step walks for requests without an `Idempotency-Key` (`usual`) and with one (`keyed`). */
interface Walks {
  readonly usual: StepWalk<Exchange>;
  readonly keyed: StepWalk<Exchange>;
}

/**
 * Source of the MCP request for which an inner call is made. Only the inner call is counted and logged, not the MCP
 * request.
 */
const CARRIER: RequestSource = { name: 'mcp', tool: '', isCarrier: true };

/** InnerCalls starts inner calls, and records their ends. */
export class InnerCalls implements InnerPath, ExchangeOwner {
  readonly date: HttpDate;
  readonly tracer: Tracer | undefined;
  private readonly routes: InnerCallParts['routes'];
  private readonly walks: Walks;
  /** Walks without the key step, for calls whose key has just been accepted. */
  private readonly knownWalks: Walks;
  private readonly requestEnd: InnerCallParts['requestEnd'];

  constructor({ routes, steps, end, requestEnd, date, tracer }: InnerCallParts) {
    this.routes = routes;
    const keyless = (list: readonly Step[]): readonly Step[] => list.filter((step) => step !== steps.key);
    const [usual, keyed] = [inOrderWithoutKey(steps), inOrder(steps)];
    this.walks = { usual: new StepWalk(usual, end), keyed: new StepWalk(keyed, end) };
    this.knownWalks = { usual: new StepWalk(keyless(usual), end), keyed: new StepWalk(keyless(keyed), end) };
    this.requestEnd = requestEnd;
    this.date = date;
    this.tracer = tracer;
  }

  begin(call: InnerCall, done: (response: InnerResponse) => void): RunningCall {
    const { url, carrier, operation, mostBytes } = call;
    const { clientAddress, scheme, idDigits } = carrier;
    const message = new InnerMessage(call);
    const response = new WholeResponse(mostBytes, done);
    const exchange = new Exchange(message, response, url, clientAddress, scheme, this, idDigits);
    response.exchange = exchange;
    exchange.caller = response;
    exchange.source = { name: 'mcp', tool: call.tool, isCarrier: false };
    carrier.source = CARRIER;
    const match = this.routes.matchOwn(operation, exchange.path);
    // An argument can change the path to that of another operation, which the caller may not intend to call.
    const mayMatch = match.kind !== 'operation' || match.operation.index === operation.index;
    exchange.match = mayMatch ? match : NOT_OURS;
    if (call.key !== undefined) {
      exchange.key = call.key;
      exchange.subject = call.key.subject;
    }
    const { usual, keyed } = call.key === undefined ? this.walks : this.knownWalks;
    if (message.headers['idempotency-key'] === undefined) usual.begin(exchange);
    else keyed.begin(exchange);
    return response;
  }

  onEnd(exchange: Exchange, status: number): void {
    exchange.closeListener?.onClose();
    this.requestEnd.end(exchange, status);
  }

  /** Does nothing, because there is no connection to hand over. */
  onHandedOver(): void {}
}
