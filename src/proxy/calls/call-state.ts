/**
 * States of a call to a backend, and the transitions between them. A larger value is a later state.
 *
 *     waiting ──► connecting ──► sent ──► announced ──► held ──► streaming ◄──► stalled
 *                  ▲      ▲        │          │      └► failing
 *                  │      └─ retry ┘          │
 *                  └─ retry ── aborting ◄── any state              any state ──► ended
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
  /** The head of a response below 400 has arrived. The sink can hold the response until the body is complete. */
  Held,
  /** An error response is being read: 400 and above, or anything but a 101 to a WebSocket handshake. */
  Failing,
  /** The sink sends the head, and the body as it arrives, to the client. */
  Streaming,
  /** The client reads too slowly. Reading from the backend is paused. */
  Stalled,
  /** The gateway is aborting the call. The connection has not released the call yet. */
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

/** Permitted next states, indexed by state. Each entry is a bit set of states. */
const NEXT_STATES: readonly number[] = [
  /* waiting    */ bitSet(CallState.Connecting, CallState.Aborting, CallState.Ended),
  /* connecting */ bitSet(CallState.Sent, CallState.Connecting, CallState.Aborting, CallState.Ended),
  /* sent       */ bitSet(
    CallState.Announced,
    CallState.Held,
    CallState.Failing,
    CallState.Connecting,
    CallState.Aborting,
    CallState.Ended,
  ),
  /* announced  */ bitSet(CallState.Held, CallState.Failing, CallState.Aborting, CallState.Ended),
  /* held       */ bitSet(CallState.Streaming, CallState.Aborting, CallState.Ended),
  /* failing    */ bitSet(CallState.Aborting, CallState.Ended),
  /* streaming  */ bitSet(CallState.Stalled, CallState.Aborting, CallState.Ended),
  /* stalled    */ bitSet(CallState.Streaming, CallState.Aborting, CallState.Ended),
  /* aborting   */ bitSet(CallState.Connecting, CallState.Ended),
  /* ended      */ bitSet(),
];

function bitSet(...states: readonly CallState[]): number {
  return states.reduce((sum, state) => sum | (1 << state), 0);
}

/**
 * Returns `to` if the transition is valid.
 * @throws Error for an invalid transition, which is always a bug of the gateway and never caused by a peer.
 */
export function checkTransition(from: CallState, to: CallState): CallState {
  if ((NEXT_STATES[from]! & (1 << to)) === 0) {
    throw new Error(`A call cannot go from ${CALL_STATES[from]} to ${CALL_STATES[to]}`);
  }
  return to;
}
