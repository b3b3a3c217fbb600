/** Defines the timeouts of client connections, which the listener enforces and responses announce. */

/**
 * Maximum time between two requests of a connection. Longer than the usual 60 s of load balancers, so that the load
 * balancer closes an idle connection first.
 */
export const KEEP_ALIVE_TIMEOUT_MS = 65_000;

/** Timeout for receiving a request head. */
export const HEAD_TIMEOUT_MS = 10_000;
