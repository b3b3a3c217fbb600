/** Timeouts of client connections, used by the listener and in its responses. */

/**
 * Maximum time between two requests of a connection. Longer than the usual 60 s of load balancers, so that they close
 * first.
 */
export const KEEP_ALIVE_TIMEOUT_MS = 65_000;

/** Time to receive a request head. */
export const HEAD_TIMEOUT_MS = 10_000;
