/** What the request path knows of a key, where it finds it, and how it hears that it has changed. */
import type { LimitChanges } from '../quota/model/effective-limits.js';

/**
 * The row of a key joined with its secret and its account, as plain immutable data. The store reads it, the
 * cache keeps it, the key step judges it.
 */
export interface ApiKeyRecord {
  /** SHA-256 of the secret that was presented, as `digestOf` gives it. */
  readonly hash: string;
  readonly keyId: string;
  readonly accountId: string;
  readonly keyStatus: 'active' | 'paused' | 'revoked';
  readonly environment: 'live' | 'test';
  readonly scopes: readonly string[];
  /**
   * Milliseconds since the epoch: the earlier of the key's own expiry and the end
   * of this secret's overlap; null: never.
   */
  readonly expiresAt: number | null;
  /** True where `expiresAt` is the end of a rotation's overlap, so that the refusal can say so. */
  readonly rotatedOut: boolean;
  /** Addresses and CIDR blocks; empty: any address. */
  readonly allowedIps: readonly string[];
  readonly accountStatus: 'active' | 'suspended';
  readonly plan: string;
  readonly timeZone: string;
  readonly billingDay: number;
  /** What makes its limits differ from the plan's; `NO_LIMIT_CHANGES` where nothing does. */
  readonly limitChanges: LimitChanges;
}

/**
 * Where the request path finds keys. Implemented over the database; a dead database rejects, an unknown hash is null.
 */
export interface ApiKeyLookup {
  /** All records for these hashes, in any order; a hash that is missing from the result is unknown. */
  findByHashes(hashes: readonly string[]): Promise<readonly ApiKeyRecord[]>;
}

/** A change that every node must hear of. Sent after the transaction that made it has committed. */
export type Invalidation =
  | { readonly type: 'api_key'; readonly accountId: string; readonly keyId: string }
  | { readonly type: 'account'; readonly accountId: string };

/** Until when every change is known to have been heard, ms since the epoch. */
export interface Heard {
  /** `Infinity`: none can be missed; `-Infinity`: none has been heard of. */
  readonly untilMs: number;
  /** The same at the beginning of the last gap; null: there was none. */
  readonly gapFromMs: number | null;
}

/** How changes reach the other processes: in process, or Redis pub/sub. */
export interface InvalidationBus {
  /** Best effort and bounded in time: a bus that is down does not fail the change (caches are bounded by age). */
  publish(change: Invalidation): Promise<void>;
  subscribe(listener: (change: Invalidation) => void): void;
  /** Time since which no message can have been missed, in ms since the epoch; null while the bus is down. */
  connectedSince(): number | null;
  /** What may have been missed. */
  heard(): Heard;
}
