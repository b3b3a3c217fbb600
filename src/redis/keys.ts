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

/** Hash: one throttle of the admin API. Lives for two windows. */
export function throttleKey(name: string, key: string): string {
  return `${PREFIX}:t:${name}:${key}`;
}

/** Pub/sub channel: changes to keys and accounts. */
export const INVALIDATION_CHANNEL = `${PREFIX}:invalidations`;
