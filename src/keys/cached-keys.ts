/**
 * A bounded number of keys in memory, by hash and by account. When it is full, the first key goes that has
 * not been used since the last time that one had to (second chance): a use sets a mark, where an exact order
 * of uses would move it through lists.
 */
import { KeptRecord, type AccountPart } from './kept-record.js';
import type { CachedKey } from './cached-key.js';

export class CachedKeys {
  private readonly keys = new Map<string, CachedKey>();
  /** The first key of each account, which holds the others: a set for each would take more than all the rest of it. */
  private readonly accounts = new Map<string, CachedKey>();
  /**
   * Goes round in the order in which keys came in. Made when the map is full: an iterator that stands still keeps every
   * table alive that the map has grown out of.
   */
  private hand: Iterator<CachedKey> | undefined;

  constructor(private readonly most: number) {}

  get size(): number {
    return this.keys.size;
  }

  /** On the request path. */
  use(hash: string): CachedKey | undefined {
    const key = this.keys.get(hash);
    if (key !== undefined && !key.wasUsed) key.wasUsed = true;
    return key;
  }

  /** Without being used by it. */
  get(hash: string): CachedKey | undefined {
    return this.keys.get(hash);
  }

  /** Takes the place of the key with this hash, if there is one. */
  set(key: CachedKey): void {
    const { hash, accountId } = key.record;
    const before = this.keys.get(hash);
    if (before !== undefined) this.unlink(before);
    else if (this.keys.size >= this.most) this.evict();
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

  /** What is known of an account by one of its keys; undefined: none is there. */
  account(accountId: string): AccountPart | undefined {
    const record = this.accounts.get(accountId)?.record;
    return record instanceof KeptRecord ? record.account : undefined;
  }

  /** The keys of an account, at this moment. */
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

  /** Ends in the second round at the latest: the first one has taken every mark away. */
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
