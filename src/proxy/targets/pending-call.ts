/** Interface between a service's targets and the calls to them. */
import type { Problem } from '../../platform/problems/errors.js';
import type { Endpoint } from './endpoint.js';
import type { ForwardRequest } from './forward-request.js';

/** A call or WebSocket that can be ended when its API key becomes invalid. */
export interface LiveCall {
  /** Account of the caller, which has a limited share of each service. */
  readonly accountId: string;
  readonly request: ForwardRequest;
  /**
   * Ends what the caller may no longer have. Streams and WebSockets are cut, and the call does not become one later.
   * Queued calls and uploads in progress get the problem. Any other response is still delivered. Returns what was cut.
   */
  revokeAccess(problem: Problem): CutKind | undefined;
}

export interface PendingCall extends LiveCall {
  /** Whether it is safe to repeat: an idempotent method (RFC 9110 section 9.2.2) without a body. */
  readonly isRepeatable: boolean;
  /** The booked address; undefined while the call is queued. Owned by `Upstream`, like the next four. */
  endpoint: Endpoint | undefined;
  activeSlot: number;
  isWaiting: boolean;
  nextWaiting: PendingCall | undefined;
  previousWaiting: PendingCall | undefined;
  /** Sends the call to an endpoint at which a connection is booked for it. */
  send(endpoint: Endpoint): void;
  /** Whether it can be retried at another target: no part of a response has arrived, and repeating is safe. */
  readonly isMovable: boolean;
  /** Moves the call to another target because its own went out of service. */
  moveToOtherTarget(): void;
  /** Ends a queued call. */
  refuse(problem: Problem): void;
}

/** Kinds of calls that end with their key. Values of a metric label. */
export type CutKind = 'answer' | 'upload' | 'websocket';
