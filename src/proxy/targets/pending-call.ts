/** Defines the interfaces of backend calls for the service, which balances, queues and ends the calls. */
import type { Problem } from '../../platform/problems/errors.js';
import type { Endpoint } from './endpoint.js';
import type { ForwardRequest } from './forward-request.js';

/** LiveCall is a call or WebSocket that the gateway can end when the API key becomes invalid. */
export interface LiveCall {
  /** Account of the caller. Its share of each service is limited. */
  readonly accountId: string;
  readonly request: ForwardRequest;
  /**
   * Ends the access of a caller whose API key became invalid. Streams and WebSockets are cut, and later streaming is
   * prevented. Queued calls and uploads in progress end with the problem. Any other response is still delivered.
   * @returns the kind of call that was cut; undefined if nothing was cut.
   */
  revokeAccess(problem: Problem): CutKind | undefined;
}

/** PendingCall is a call that is queued for a connection, or that holds a connection. */
export interface PendingCall extends LiveCall {
  /** Whether the request is safe to repeat: an idempotent method (RFC 9110 section 9.2.2) without a body. */
  readonly isRepeatable: boolean;
  /** The booked address; undefined while the call is queued. `Upstream` owns this field and the next four. */
  endpoint: Endpoint | undefined;
  /** Index in the array of active calls. */
  activeSlot: number;
  /** Whether the call is queued. */
  isWaiting: boolean;
  nextWaiting: PendingCall | undefined;
  previousWaiting: PendingCall | undefined;
  /** Sends the call to an endpoint at which a connection is booked for this call. */
  send(endpoint: Endpoint): void;
  /** Whether another target can get the call: no part of a response has arrived, and repeating is safe. */
  readonly isMovable: boolean;
  /** Moves the call to another target, because its current target is out of service. */
  moveToOtherTarget(): void;
  /** Ends a queued call with a problem. */
  refuse(problem: Problem): void;
}

/** Kind of a call that was cut. `answer` is a streamed response. The kinds are values of a metric label. */
export type CutKind = 'answer' | 'upload' | 'websocket';
