/** What the targets of a service and a call to one of them know of each other. */
import type { Problem } from '../../platform/problems/errors.js';
import type { Endpoint } from './endpoint.js';
import type { ForwardRequest } from './forward-request.js';

/** Something that a caller has open, and may have to lose. */
export interface LiveCall {
  /** Whose it is; an account holds no more than its share of a service. */
  readonly accountId: string;
  readonly request: ForwardRequest;
  /**
   * Its caller may not ask any more: a stream or WebSocket is cut at once, and the call does not become one later; one
   * that waits, or whose body is still arriving, is refused with the problem. Any other response is still given. What
   * was cut; undefined: nothing.
   */
  bar(problem: Problem): CutKind | undefined;
}

export interface PendingCall extends LiveCall {
  /** Whether it may be sent twice: an idempotent method (RFC 9110 section 9.2.2) without a body. */
  readonly isRepeatable: boolean;
  /** Where it has been sent to; undefined while it waits for a connection. Belongs to `Upstream`, like the rest. */
  endpoint: Endpoint | undefined;
  activeSlot: number;
  isWaiting: boolean;
  nextWaiting: PendingCall | undefined;
  previousWaiting: PendingCall | undefined;
  /** Sends it to the endpoint, whose connection has been booked for it. */
  send(endpoint: Endpoint): void;
  /** Whether it could be taken to another target: it may be repeated, and nothing of a response has come. */
  readonly isMovable: boolean;
  /** Its target is out of service, another one is not. */
  move(): void;
  /** Ends it while it waits. */
  refuse(problem: Problem): void;
}

/** What ends with its key; a value of a metric. */
export type CutKind = 'answer' | 'upload' | 'websocket';
