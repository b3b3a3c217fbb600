/** Defines the types for API keys on the request path: records, their lookup, and the invalidation of cached keys. */
import type { LimitChanges } from '../quota/model/effective-limits.js';

/** ApiKeyRecord is the row of a key, joined with the rows of its account and of one of its secrets. Immutable. */
export interface ApiKeyRecord {
  /** SHA-256 of the secret, in the form of `digestOf`. */
  readonly hash: string;
  readonly keyId: string;
  readonly accountId: string;
  readonly keyStatus: 'active' | 'paused' | 'revoked';
  readonly environment: 'live' | 'test';
  readonly scopes: readonly string[];
  /**
   * The earlier of two times: the expiration of the key, and the end of the rotation overlap of the secret. In ms since
   * the epoch. Null if neither is set.
   */
  readonly expiresAt: number | null;
  /** Whether `expiresAt` is the end of a rotation overlap. Determines the error text for the client. */
  readonly rotatedOut: boolean;
  /** Addresses and CIDR blocks of the allowed clients. Empty to allow all. */
  readonly allowedIps: readonly string[];
  readonly accountStatus: 'active' | 'suspended';
  readonly plan: string;
  readonly timeZone: string;
  readonly billingDay: number;
  /** Changes to the limits of the plan. `NO_LIMIT_CHANGES` if there are none. */
  readonly limitChanges: LimitChanges;
}

/** ApiKeyLookup reads keys from the database for the request path. */
export interface ApiKeyLookup {
  /**
   * Returns the records of hashes in any order. Unknown hashes have no record in the result. Rejects if the database is
   * unavailable.
   */
  findByHashes(hashes: readonly string[]): Promise<readonly ApiKeyRecord[]>;
}

/** Invalidation is the message about a changed key or account. It is published after the transaction has committed. */
export type Invalidation =
  | { readonly type: 'api_key'; readonly accountId: string; readonly keyId: string }
  | { readonly type: 'account'; readonly accountId: string };

/** Heard describes up to which time a process has received all changes, in ms since the epoch. */
export interface Heard {
  /**
   * Time up to which all changes were received. `Infinity` if no change can be missed, `-Infinity` if changes are not
   * received.
   */
  readonly untilMs: number;
  /**
   * Value of `untilMs` before the last interruption of the bus, during which changes may have been missed. Null if
   * there was no interruption.
   */
  readonly gapFromMs: number | null;
}

/**
 * InvalidationBus sends changes to the key caches of all processes. `ProcessBus` works within one process, and
 * `RedisBus` uses Redis pub/sub.
 */
export interface InvalidationBus {
  /** Publishes a change. Does not reject if the bus is down, because cached keys expire in any case. */
  publish(change: Invalidation): Promise<void>;
  subscribe(listener: (change: Invalidation) => void): void;
  /** Returns the time since which no message was missed, in ms since the epoch. Null while the bus is down. */
  connectedSince(): number | null;
  /** Returns up to which time all changes have been received. */
  lastReceived(): Heard;
}
