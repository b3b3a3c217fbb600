/** Types for API keys on the request path: records, their lookup, and invalidation. */
import type { LimitChanges } from '../quota/model/effective-limits.js';

/** ApiKeyRecord is the row of a key joined with the rows of one of its secrets and of its account. Immutable. */
export interface ApiKeyRecord {
  /** SHA-256 of the secret, see `digestOf`. */
  readonly hash: string;
  readonly keyId: string;
  readonly accountId: string;
  readonly keyStatus: 'active' | 'paused' | 'revoked';
  readonly environment: 'live' | 'test';
  readonly scopes: readonly string[];
  /**
   * The earlier of the expiration of the key and the end of the rotation overlap of the secret, in ms since the epoch.
   * Null if neither is set.
   */
  readonly expiresAt: number | null;
  /** Whether `expiresAt` is the end of a rotation overlap. Decides the text of the refusal. */
  readonly rotatedOut: boolean;
  /** Allowed addresses and CIDR blocks. Empty to allow all. */
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
  /** Returns the records of these hashes in any order, without unknown ones. Rejects if the database is unavailable. */
  findByHashes(hashes: readonly string[]): Promise<readonly ApiKeyRecord[]>;
}

/** Invalidation announces a change of a key or an account. Published after the transaction has committed. */
export type Invalidation =
  | { readonly type: 'api_key'; readonly accountId: string; readonly keyId: string }
  | { readonly type: 'account'; readonly accountId: string };

/** Heard is the time up to which a process has received all changes, in ms since the epoch. */
export interface Heard {
  /** `Infinity` if no change can be missed, `-Infinity` if changes are not received. */
  readonly untilMs: number;
  /**
   * `untilMs` before the last interruption of the bus, in which changes may have been missed. Null if there was none.
   */
  readonly gapFromMs: number | null;
}

/**
 * InvalidationBus sends changes to all processes. `ProcessBus` works within one process, and `RedisBus` uses Redis
 * pub/sub.
 */
export interface InvalidationBus {
  /** Publishes a change. Does not reject if the bus is down, because cached keys expire. */
  publish(change: Invalidation): Promise<void>;
  subscribe(listener: (change: Invalidation) => void): void;
  /** Returns the time since which no message was missed, in ms since the epoch. Null while the bus is down. */
  connectedSince(): number | null;
  /** Returns up to which time changes have been received. */
  heard(): Heard;
}
