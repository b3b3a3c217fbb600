/**
 * Where a call to a backend stands, and where it may go from there. A state says what has happened, so that nobody has
 * to work it out from what happens to be set; what is larger has come further.
 *
 *     waiting ──► connecting ──► sent ──► announced ──► held ──► streaming ◄──► stalled
 *                  ▲      ▲        │          │      └► failing
 *                  │      └─ retry ┘          │
 *                  └─ retry ── aborting ◄── any of them            any of them ──► ended
 */

export const enum CallState {
  /** No target is booked for it: it is new, or waits for a connection. */
  Waiting,
  /** A target is booked for it, and no connection has it yet. */
  Connecting,
  /** A connection has it, and nothing of a response has come. */
  Sent,
  /** An interim response has come: from here on it is not sent again. */
  Announced,
  /** The head of the response is here, and held back until the body is whole or has become long. */
  Held,
  /** A response of 400 and above is being read for its meaning. */
  Failing,
  /** The head is out to the client, and the body is passed on as it comes. */
  Streaming,
  /** The client reads more slowly than the backend writes: nothing is read until it has caught up. */
  Stalled,
  /** We are ending it, and what it stood on has yet to let go of it. */
  Aborting,
  /** It holds nothing any more. */
  Ended,
}

/** Names of the states, for whoever reads of them. */
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

/** By state, a bit for each that may follow. */
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
 * The state after a step.
 * @throws where no way leads from `from` to `to`: a fault of the program, and never of a peer.
 */
export function follow(from: CallState, to: CallState): CallState {
  if ((NEXT[from]! & (1 << to)) === 0) {
    throw new Error(`A call cannot go from ${CALL_STATES[from]} to ${CALL_STATES[to]}`);
  }
  return to;
}
