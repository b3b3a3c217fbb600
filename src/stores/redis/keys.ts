/** Every key and channel that the program uses in Redis, with how long it lives. */

const PREFIX = 'tg';

/** Counters of an account outlive the month that they were last written in by this long. */
export const COUNTER_GRACE_MS = 3 * 24 * 3_600_000;

/** Hash: minute ring and month count of an account. Lives until its month's end + `COUNTER_GRACE_MS`. */
export function accountCounterKey(accountId: string): string {
  return `${PREFIX}:q:{${accountId}}`;
}

/** Hash: the same for one key, in the account's slot of a cluster. */
export function apiKeyCounterKey(accountId: string, keyId: string): string {
  return `${PREFIX}:q:{${accountId}}:${keyId}`;
}

/**
 * Hash: what the shadow limits of the account's plan would have admitted of its
 * requests. Lives as long as the live counter.
 */
export function shadowAccountCounterKey(accountId: string): string {
  return `${PREFIX}:s:{${accountId}}`;
}

/** Hash: the same for one key. */
export function shadowApiKeyCounterKey(accountId: string, keyId: string): string {
  return `${PREFIX}:s:{${accountId}}:${keyId}`;
}

/** String: says that an outage's counts have been added. Lives for `REPLAY_MARKER_MS`. */
export function replayMarkerKey(accountId: string, id: string): string {
  return `${PREFIX}:r:{${accountId}}:${id}`;
}

/**
 * Hash: which batch of decisions of a node ran last, and what it admitted. Lives for
 * `BATCH_MARKER_MS`, renewed every minute.
 */
export function batchMarkerKey(nodeId: string): string {
  return `${PREFIX}:b:${nodeId}`;
}

/** The same in a cluster, for a batch in the slot of an account. Lives for `SLOT_MARKER_MS`. */
export function slotMarkerKey(accountId: string, nodeId: string): string {
  return `${PREFIX}:b:{${accountId}}:${nodeId}`;
}

/** A marker for each account that was first in a batch: shorter, so that they do not pile up. */
export const SLOT_MARKER_MS = 3_600_000;

/** What the keys of an account are placed by in a cluster. */
export function slotTag(accountId: string): string {
  return accountId;
}

/** Longer than any node is cut off from Redis and comes back with the question whether its last batch ran. */
export const BATCH_MARKER_MS = 24 * 3_600_000;

/** Longer than any node tries to hand its counts in. */
export const REPLAY_MARKER_MS = 24 * 3_600_000;

/** Hash: one throttle of the admin API. Lives for two windows. */
export function throttleKey(name: string, key: string): string {
  return `${PREFIX}:t:${name}:${key}`;
}

/** Sorted set: processes that serve requests, by when they were last heard (ms). Lives for `NODES_MS`. */
export const NODES_KEY = `${PREFIX}:nodes`;
export const NODES_MS = 60_000;
/**
 * String: a number by which a node tells a Redis that was emptied from the one that it knew; in the slot of
 * `NODES_KEY`. Lives for `EPOCH_MS`.
 */
export const EPOCH_KEY = `${PREFIX}:{${NODES_KEY}}:epoch`;
/** Longer than a Redis is away and comes back with all its data, which then has the epoch too. */
export const EPOCH_MS = 24 * 3_600_000;

/**
 * Hash: what each node says of itself, JSON by its id; in the slot of `STATEMENT_TIMES_KEY`. Lives for `STATEMENTS_MS`.
 */
export const STATEMENTS_KEY = `${PREFIX}:{said}:statements`;
/** Sorted set: when each node said so (ms). Lives for `STATEMENTS_MS`. */
export const STATEMENT_TIMES_KEY = `${PREFIX}:{said}:times`;
export const STATEMENTS_MS = 2 * 60_000;

/**
 * Hash: what is kept of a request with an `Idempotency-Key`; each is placed by itself in a cluster. Lives for
 * `idempotencyRetention`.
 */
export function idempotencyKey(apiKeyId: string, keyHash: string): string {
  return `${PREFIX}:i:${apiKeyId}:${keyHash}`;
}

/** String: empty, written to see whether Redis takes writes. Lives for `PROBE_MS`. */
export const PROBE_KEY = `${PREFIX}:probe`;
export const PROBE_MS = 10_000;

/** Pub/sub channel: changes to keys and accounts. */
export const INVALIDATION_CHANNEL = `${PREFIX}:invalidations`;
