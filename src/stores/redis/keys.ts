/** All Redis keys and channels of the program, with their lifetimes. */

export const PREFIX = 'tg';

/** How long the counters of an account outlive the month in which they were last written. */
export const COUNTER_GRACE_MS = 3 * 24 * 3_600_000;

/** Hash: minute ring and month count of an account. Expires `COUNTER_GRACE_MS` after the end of the month. */
export function accountCounterKey(accountId: string): string {
  return `${PREFIX}:q:{${accountId}}`;
}

/** Hash: the same for one key, in the account's Cluster slot. */
export function apiKeyCounterKey(accountId: string, keyId: string): string {
  return `${PREFIX}:q:{${accountId}}:${keyId}`;
}

/**
 * Hash: counters of the account's shadow limits, with what these would have admitted. Expires with the live counter.
 */
export function shadowAccountCounterKey(accountId: string): string {
  return `${PREFIX}:s:{${accountId}}`;
}

/** Hash: the same for one key. */
export function shadowApiKeyCounterKey(accountId: string, keyId: string): string {
  return `${PREFIX}:s:{${accountId}}:${keyId}`;
}

/** String: marks that the counts of an outage have been added. Expires after `REPLAY_MARKER_MS`. */
export function replayMarkerKey(accountId: string, id: string): string {
  return `${PREFIX}:r:{${accountId}}:${id}`;
}

/**
 * Hash: the last batch of decisions that ran for a node, and what it admitted. Expires after `BATCH_MARKER_MS`, renewed
 * every minute.
 */
export function batchMarkerKey(nodeId: string): string {
  return `${PREFIX}:b:${nodeId}`;
}

/** Hash: the same in a Cluster, for a batch in an account's slot. Expires after `SLOT_MARKER_MS`. */
export function slotMarkerKey(accountId: string, nodeId: string): string {
  return `${PREFIX}:b:{${accountId}}:${nodeId}`;
}

/** Shorter, because there is one marker per account that was the first in a batch. */
export const SLOT_MARKER_MS = 3_600_000;

/** Returns the hash tag that determines the Cluster slot of an account's keys. */
export function slotTag(accountId: string): string {
  return accountId;
}

/** Longer than a node can lose Redis and still ask afterwards whether its last batch ran. */
export const BATCH_MARKER_MS = 24 * 3_600_000;

/** Longer than a node tries to add its counts. */
export const REPLAY_MARKER_MS = 24 * 3_600_000;

/** Hash: a throttle of the admin API. Expires after two windows. */
export function throttleKey(name: string, key: string): string {
  return `${PREFIX}:t:${name}:${key}`;
}

/** Sorted set: nodes that serve requests, by the time of their last heartbeat (ms). Expires after `NODES_MS`. */
export const NODES_KEY = `${PREFIX}:nodes`;
export const NODES_MS = 60_000;
/**
 * String: a random number by which a node detects that Redis has been emptied. In the slot of `NODES_KEY`. Expires
 * after `EPOCH_MS`.
 */
export const EPOCH_KEY = `${PREFIX}:{${NODES_KEY}}:epoch`;
/** Longer than a Redis can be down and return with all its data, including the epoch. */
export const EPOCH_MS = 24 * 3_600_000;

/**
 * Hash: the statement of each node as JSON, by node ID. In the slot of `STATEMENT_TIMES_KEY`. Expires after
 * `STATEMENTS_MS`.
 */
export const STATEMENTS_KEY = `${PREFIX}:{said}:statements`;
/** Sorted set: time of each statement (ms). Expires after `STATEMENTS_MS`. */
export const STATEMENT_TIMES_KEY = `${PREFIX}:{said}:times`;
export const STATEMENTS_MS = 2 * 60_000;

/** Prefix of the keys of idempotency records. The ID of the API key follows. */
export const IDEMPOTENCY_PREFIX = `${PREFIX}:i:`;

/**
 * Hash: record of a request with an `Idempotency-Key`. Each has its own Cluster slot. Expires after
 * `idempotencyRetention`.
 */
export function idempotencyKey(apiKeyId: string, keyHash: string): string {
  return `${IDEMPOTENCY_PREFIX}${apiKeyId}:${keyHash}`;
}

/** String: empty, written to check whether Redis accepts writes. Expires after `PROBE_MS`. */
export const PROBE_KEY = `${PREFIX}:probe`;
export const PROBE_MS = 10_000;

/** Pub/sub channel: changes to keys and accounts. */
export const INVALIDATION_CHANNEL = `${PREFIX}:invalidations`;
