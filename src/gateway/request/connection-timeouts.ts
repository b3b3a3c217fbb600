/**
 * How long a connection of a client may take for what it owes, or idle: what the
 * listener holds it to and its responses say.
 */

/** How long a connection may idle: longer than the usual load balancers' 60 s, so that they close first. */
export const KEEP_ALIVE_TIMEOUT_MS = 65_000;

/** Until the head of a request has arrived. */
export const HEAD_TIMEOUT_MS = 10_000;
