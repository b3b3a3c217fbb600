/**
 * Stores cached keys by hash and by account, up to a maximum number. Evicts keys by the second-chance (clock)
 * algorithm, in which the use of a key only sets a flag. An exact LRU order would need an update of a list for each
 * use.
 */
import { CompactRecord, type AccountPart } from './compact-record.js';
import type { CachedKey } from './cached-key.js';

export class CachedKeys {
  private readonly keys = new Map<string, CachedKey>();
  /**
   * First key of each account. Each key links to the next key of its account. A `Set` per account would take more
   * memory.
   */
  private readonly accounts = new Map<string, CachedKey>();
  /**
   * Clock hand, which iterates over `keys` in insertion order. Created only when the map is full, because an open
   * iterator keeps the old tables of a growing map in memory.
   */
  private hand: Iterator<CachedKey> | undefined;

  constructor(private readonly maxKeys: number) {}

  get size(): number {
    return this.keys.size;
  }

  /** Returns the key with a hash and marks the key as used. Runs on the request path. */
  findAndMarkUsed(hash: string): CachedKey | undefined {
    const key = this.keys.get(hash);
    if (key !== undefined && !key.wasUsed) key.wasUsed = true;
    return key;
  }

  /** Returns the key with a hash without marking the key as used. */
  get(hash: string): CachedKey | undefined {
    return this.keys.get(hash);
  }

  /** Adds a key, or replaces the key with the same hash. Evicts another key if the cache is full. */
  set(key: CachedKey): void {
    const { hash, accountId } = key.record;
    const before = this.keys.get(hash);
    if (before !== undefined) this.unlink(before);
    else if (this.keys.size >= this.maxKeys) this.evict();
    this.keys.set(hash, key);
    const first = this.accounts.get(accountId);
    if (first !== undefined) first.previousOfAccount = key;
    key.nextOfAccount = first;
    this.accounts.set(accountId, key);
  }

  delete(hash: string): void {
    const key = this.keys.get(hash);
    if (key === undefined) return;
    this.keys.delete(hash);
    this.unlink(key);
  }

  /** Returns the account data of the cached keys of an account. Undefined if no key of the account is cached. */
  accountPartOf(accountId: string): AccountPart | undefined {
    const record = this.accounts.get(accountId)?.record;
    return record instanceof CompactRecord ? record.account : undefined;
  }

  /** Returns the cached keys of an account in a new array, so that callers can delete keys while they iterate. */
  ofAccount(accountId: string): CachedKey[] {
    const keys: CachedKey[] = [];
    for (let key = this.accounts.get(accountId); key !== undefined; key = key.nextOfAccount) keys.push(key);
    return keys;
  }

  private unlink(key: CachedKey): void {
    const { nextOfAccount: next, previousOfAccount: previous } = key;
    if (next !== undefined) next.previousOfAccount = previous;
    if (previous !== undefined) previous.nextOfAccount = next;
    else if (next !== undefined) this.accounts.set(key.record.accountId, next);
    else this.accounts.delete(key.record.accountId);
    key.nextOfAccount = key.previousOfAccount = undefined;
  }

  /** Evicts one key. Ends in the second round at the latest, because the first round clears the flags of all keys. */
  private evict(): void {
    for (;;) {
      this.hand ??= this.keys.values();
      const { value: key, done } = this.hand.next();
      if (done) {
        this.hand = undefined;
      } else if (key.wasUsed) {
        key.wasUsed = false;
      } else {
        this.delete(key.record.hash);
        return;
      }
    }
  }
}
