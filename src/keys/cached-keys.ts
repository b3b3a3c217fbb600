/**
 * Cache of keys by hash and by account, with a maximum number of keys. Evicts by the second-chance (clock) algorithm,
 * in which a use only sets a flag. An exact LRU order would have to update a list.
 */
import { KeptRecord, type AccountPart } from './kept-record.js';
import type { CachedKey } from './cached-key.js';

export class CachedKeys {
  private readonly keys = new Map<string, CachedKey>();
  /**
   * The first key of each account, which links to the other keys of the account. A set per account would take more
   * memory.
   */
  private readonly accounts = new Map<string, CachedKey>();
  /**
   * The clock hand, which iterates over `keys` in insertion order. Created only when the map is full, because an open
   * iterator keeps the old tables of a growing map in memory.
   */
  private hand: Iterator<CachedKey> | undefined;

  constructor(private readonly maxKeys: number) {}

  get size(): number {
    return this.keys.size;
  }

  /** Returns a key and marks it as used. Runs on the request path. */
  use(hash: string): CachedKey | undefined {
    const key = this.keys.get(hash);
    if (key !== undefined && !key.wasUsed) key.wasUsed = true;
    return key;
  }

  /** Returns a key without marking it as used. */
  get(hash: string): CachedKey | undefined {
    return this.keys.get(hash);
  }

  /** Adds a key, or replaces the one with the same hash. Evicts another key if the cache is full. */
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

  /** Returns the account data that the cached keys of an account share, or undefined if none is cached. */
  account(accountId: string): AccountPart | undefined {
    const record = this.accounts.get(accountId)?.record;
    return record instanceof KeptRecord ? record.account : undefined;
  }

  /** Returns a copy of the list of keys of an account. */
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

  /** Removes one key. Ends in the second round at the latest, because the first round clears all flags. */
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
