/** Names all Redis keys and channels of the program, with their lifetimes in milliseconds. */

export const PREFIX = 'tg';

/** How long counters are kept after the end of the month in which they were last written. */
export const COUNTER_GRACE_MS = 3 * 24 * 3_600_000;

/**
 * Returns the key of a hash with the minute ring, day count and month count of an account. The hash expires
 * `COUNTER_GRACE_MS` after the end of the month.
 */
export function accountCounterKey(accountId: string): string {
  return `${PREFIX}:q:{${accountId}}`;
}

/** Returns the key of a hash with the counters of one API key. The key is in the Cluster slot of the account. */
export function apiKeyCounterKey(accountId: string, keyId: string): string {
  return `${PREFIX}:q:{${accountId}}:${keyId}`;
}

/**
 * Returns the key of a hash with the account's counters for shadow limits, which count what these limits would have
 * admitted. The hash expires at the same time as the account's real counters.
 */
export function shadowAccountCounterKey(accountId: string): string {
  return `${PREFIX}:s:{${accountId}}`;
}

/** Returns the key of a hash with the counters of one API key for shadow limits. */
export function shadowApiKeyCounterKey(accountId: string, keyId: string): string {
  return `${PREFIX}:s:{${accountId}}:${keyId}`;
}

/**
 * Returns the key of a marker, which shows that the counts of an outage have been added. The marker expires after
 * `REPLAY_MARKER_MS`.
 */
export function replayMarkerKey(accountId: string, id: string): string {
  return `${PREFIX}:r:{${accountId}}:${id}`;
}

/**
 * Returns the key of a hash with the last batch of decisions that ran for a node, and what the batch admitted. The hash
 * expires after `BATCH_MARKER_MS`. A node that counts renews the expiry once a minute.
 */
export function batchMarkerKey(nodeId: string): string {
  return `${PREFIX}:b:${nodeId}`;
}

/**
 * Returns the key that replaces `batchMarkerKey` in a Cluster, for a batch in an account's slot. The hash expires after
 * `SLOT_MARKER_MS`.
 */
export function slotMarkerKey(accountId: string, nodeId: string): string {
  return `${PREFIX}:b:{${accountId}}:${nodeId}`;
}

/**
 * Lifetime of `slotMarkerKey`. It is shorter than `BATCH_MARKER_MS`, because a node has one marker for each account
 * that was the first in a batch.
 */
export const SLOT_MARKER_MS = 3_600_000;

/** Returns the hash tag that determines the Cluster slot of an account's keys. */
export function slotTag(accountId: string): string {
  return accountId;
}

/**
 * Lifetime of `batchMarkerKey`. It exceeds the longest outage after which a node still checks whether its last batch
 * ran.
 */
export const BATCH_MARKER_MS = 24 * 3_600_000;

/** Lifetime of `replayMarkerKey`. It exceeds the time for which a node tries to add its counts. */
export const REPLAY_MARKER_MS = 24 * 3_600_000;

/**
 * Returns the key of a hash with the counts of a throttle. The hash expires two window lengths after its last count.
 */
export function throttleKey(name: string, key: string): string {
  return `${PREFIX}:t:${name}:${key}`;
}

/** Sorted set of the nodes that serve requests, by the time of their last heartbeat (ms). Expires after `NODES_MS`. */
export const NODES_KEY = `${PREFIX}:nodes`;
export const NODES_MS = 60_000;
/**
 * String with a random number by which a node detects that Redis has been emptied. The string is in the Cluster slot of
 * `NODES_KEY`, and expires after `EPOCH_MS`.
 */
export const EPOCH_KEY = `${PREFIX}:{${NODES_KEY}}:epoch`;
/**
 * Lifetime of `EPOCH_KEY`. It is longer than any expected outage after which Redis returns with its data, including the
 * epoch.
 */
export const EPOCH_MS = 24 * 3_600_000;

/**
 * Hash with the status report of each node as JSON, by node ID. The hash is in the Cluster slot of
 * `STATEMENT_TIMES_KEY`, and expires after `STATEMENTS_MS`.
 */
export const STATEMENTS_KEY = `${PREFIX}:{said}:statements`;
/** Sorted set with the time of each status report (ms), by node ID. Expires after `STATEMENTS_MS`. */
export const STATEMENT_TIMES_KEY = `${PREFIX}:{said}:times`;
export const STATEMENTS_MS = 2 * 60_000;

/** Prefix of the keys of idempotency records. The ID of the API key follows. */
export const IDEMPOTENCY_PREFIX = `${PREFIX}:i:`;

/**
 * Returns the key of a hash with the record of a request that has an `Idempotency-Key`. Each record has its own Cluster
 * slot. The hash expires after `idempotencyRetention`.
 */
export function idempotencyKey(apiKeyId: string, keyHash: string): string {
  return `${IDEMPOTENCY_PREFIX}${apiKeyId}:${keyHash}`;
}

/** Empty string, which is written to check whether Redis accepts writes. Expires after `PROBE_MS`. */
export const PROBE_KEY = `${PREFIX}:probe`;
export const PROBE_MS = 10_000;

/** Pub/sub channel for changes of keys and accounts. */
export const INVALIDATION_CHANNEL = `${PREFIX}:invalidations`;
