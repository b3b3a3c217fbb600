/**
 * States of a call to a backend, and the transitions between them. Larger values are later in the life of a call.
 *
 *     waiting ──► connecting ──► sent ──► announced ──► held ──► streaming ◄──► stalled
 *                  ▲      ▲        │          │      └► failing
 *                  │      └─ retry ┘          │
 *                  └─ retry ── aborting ◄── any of them            any of them ──► ended
 */

export const enum CallState {
  /** New, or queued for a connection. */
  Waiting,
  /** A slot at a target is booked. No connection has the call yet. */
  Connecting,
  /** A connection has the call. No part of a response has arrived. */
  Sent,
  /** An interim response has arrived. The call is no longer retried. */
  Announced,
  /** The head of the response has arrived. It is held until the body is complete or too large to hold. */
  Held,
  /** An error response (400 and above) is being read. */
  Failing,
  /** The head was sent to the client. The body is passed on as it arrives. */
  Streaming,
  /** The client reads too slowly. Reading from the backend is paused. */
  Stalled,
  /** The gateway is aborting the call. The connection has not released it yet. */
  Aborting,
  /** All resources are released. */
  Ended,
}

/** Names of the states, for error messages. */
export const CALL_STATES = [
  'waiting',
  'connecting',
  'sent',
  'announced',
  'held',
  'failing',
  'streaming',
  'stalled',
  'aborting',
  'ended',
] as const;

/** Permitted next states by state, as bit sets. */
const NEXT: readonly number[] = [
  /* waiting    */ bits(CallState.Connecting, CallState.Aborting, CallState.Ended),
  /* connecting */ bits(CallState.Sent, CallState.Connecting, CallState.Aborting, CallState.Ended),
  /* sent       */ bits(
    CallState.Announced,
    CallState.Held,
    CallState.Failing,
    CallState.Connecting,
    CallState.Aborting,
    CallState.Ended,
  ),
  /* announced  */ bits(CallState.Held, CallState.Failing, CallState.Aborting, CallState.Ended),
  /* held       */ bits(CallState.Streaming, CallState.Aborting, CallState.Ended),
  /* failing    */ bits(CallState.Aborting, CallState.Ended),
  /* streaming  */ bits(CallState.Stalled, CallState.Aborting, CallState.Ended),
  /* stalled    */ bits(CallState.Streaming, CallState.Aborting, CallState.Ended),
  /* aborting   */ bits(CallState.Connecting, CallState.Ended),
  /* ended      */ bits(),
];

function bits(...states: readonly CallState[]): number {
  return states.reduce((sum, state) => sum | (1 << state), 0);
}

/**
 * Returns `to` if the transition is valid.
 * @throws Error for an invalid transition, which is always a bug of the gateway and never caused by a peer.
 */
export function follow(from: CallState, to: CallState): CallState {
  if ((NEXT[from]! & (1 << to)) === 0) {
    throw new Error(`A call cannot go from ${CALL_STATES[from]} to ${CALL_STATES[to]}`);
  }
  return to;
}
