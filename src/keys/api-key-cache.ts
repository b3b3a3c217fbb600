/**
 * Caches API keys by the digest of their secret. A cached key is trusted for five minutes while the invalidation bus
 * has missed no message, otherwise for ten seconds. Then the key is read again. While the database is unavailable,
 * cached keys can be used for an hour. Secrets that are not in the cache get 503 instead of 401.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.js';
import { Problem } from '../platform/problems/errors.js';
import { METRICS } from '../platform/metrics.js';
import { retryFields } from '../platform/problems/retry-after.js';
import type { ApiKeyLookup, ApiKeyRecord, Invalidation, InvalidationBus } from './api-key.js';
import { FRESH_WITHOUT_BUS_MS, KeyStaleness, LONGEST_STALE_MS } from './key-staleness.js';
import { RecordCompactor } from './compact-record.js';
import type { CachedKey, CachedKeyFactory } from './cached-key.js';
import { CachedKeys } from './cached-keys.js';

/** How long a cached key is trusted while the bus is up, in ms. */
const FRESH_WITH_BUS_MS = 300_000;
/** How long the result that a hash has no key is cached while the bus is up, in ms. */
const UNKNOWN_MS = 60_000;

/** Maximum number of cached keys, and of cached results that a hash has no key. */
const MAX_KNOWN = 100_000;
const MAX_UNKNOWN = 10_000;
/** Maximum number of hashes per query, and of concurrent queries. */
const HASHES_PER_QUERY = 100;
const MAX_QUERIES = 2;
/** Maximum number of attempts of a query. A query is repeated if an invalidation arrives during it. */
const READ_ATTEMPTS = 3;
/** Maximum number of pending lookups. Above it, requests get 503 immediately. */
const MAX_WAITING = 10_000;

interface PendingLookup {
  readonly promise: Promise<CachedKey | undefined>;
  readonly resolve: (key: CachedKey | undefined) => void;
  readonly reject: (error: unknown) => void;
}

interface QueryResult {
  readonly records: readonly ApiKeyRecord[];
  /** Whether no invalidation arrived during the query. If false, the results must not be cached. */
  readonly current: boolean;
  /**
   * Start of the query, in ms since the epoch. Used as the time when the records were read, because the bus may have
   * missed a change during the query.
   */
  readonly beganMs: number;
}

export class ApiKeyCache {
  private readonly known: CachedKeys;
  private readonly compactor = new RecordCompactor();
  private readonly unknown = new LRUCache<string, true>({ max: MAX_UNKNOWN, ttl: UNKNOWN_MS });
  private readonly waiting = new Map<string, PendingLookup>();
  private queue: string[] = [];
  private queries = 0;
  /** Number of invalidations so far, to detect queries that may have read an old row. */
  private invalidations = 0;

  private readonly hits = METRICS.keyLookups.series('memory');
  private readonly unknownHits = METRICS.keyLookups.series('memory_unknown');
  private readonly misses = METRICS.keyLookups.series('database');
  private readonly staleness: KeyStaleness;
  private readonly staleUses = METRICS.keyStaleUses.series();

  constructor(
    private readonly lookup: ApiKeyLookup,
    private readonly factory: CachedKeyFactory,
    private readonly bus: InvalidationBus,
    private readonly clock: Clock,
    /** Maximum number of cached keys. */
    mostKnown = MAX_KNOWN,
  ) {
    this.known = new CachedKeys(mostKnown);
    this.staleness = new KeyStaleness(bus, clock);
    bus.subscribe((change) => this.invalidate(change));
  }

  readGauges(): void {
    METRICS.keyStaleness.series().set(this.staleness.mostMs / 1_000);
    METRICS.keyCacheEntries.series('known').set(this.known.size);
    METRICS.keyCacheEntries.series('unknown').set(this.unknown.size);
  }

  /**
   * Finds a key by the digest of its secret (`digestOf`). The result is undefined if there is no such key. Returns a
   * promise only if the database must be read. The promise rejects with `authentication_unavailable` if the database is
   * unavailable and no cached key can be used.
   */
  find(hash: string): CachedKey | undefined | Promise<CachedKey | undefined> {
    const key = this.findCached(hash);
    if (key !== undefined) {
      if (this.isFresh(key)) {
        this.hits.inc();
        return key;
      }
      return this.recheck(hash, key);
    }
    if (this.unknown.has(hash)) {
      this.unknownHits.inc();
      return undefined;
    }
    return this.load(hash);
  }

  /**
   * Returns a cached key without marking it as used, or undefined if the key is not cached. The key may be out of date.
   */
  peek(hash: string): CachedKey | undefined {
    return this.known.get(hash);
  }

  /**
   * Builds the key of a record with the quota counts of this process, as a request would find the key. The key is not
   * cached, and no use is recorded.
   */
  build(record: ApiKeyRecord): CachedKey {
    const previous = this.known.ofAccount(record.accountId).find((known) => known.record.keyId === record.keyId);
    return this.factory.build(record, this.clock.now(), previous);
  }

  /**
   * Returns a cached key with current limits, or undefined if the key is not cached. Builds the key again if a grant
   * has ended with its month, or if the plans have changed. Does not read the database.
   */
  private findCached(hash: string): CachedKey | undefined {
    const key = this.known.findAndMarkUsed(hash);
    if (key === undefined) return undefined;
    const isCurrent = key.limitsUntilMs === undefined || this.clock.now() < key.limitsUntilMs;
    if (isCurrent && key.wasBuiltWith(this.factory.rules)) return key;
    const renewed = this.factory.build(key.record, key.checkedAtMs, key, this.clock.now());
    renewed.recheckFailed = key.recheckFailed;
    renewed.useNotedAtMs = key.useNotedAtMs;
    this.known.set(renewed);
    return renewed;
  }

  /** Reports whether a cached key can be used without reading the key again. */
  private isFresh(key: CachedKey): boolean {
    const ageMs = this.clock.now() - key.checkedAtMs;
    // The age is negative if the clock was set back.
    if (ageMs < 0) return false;
    if (ageMs < FRESH_WITHOUT_BUS_MS) return true;
    const since = this.bus.connectedSince();
    return since !== null && key.checkedAtMs >= since && ageMs < FRESH_WITH_BUS_MS;
  }

  /**
   * Reads a cached key again. If the database is unavailable, returns the cached key until it is too old
   * (`LONGEST_STALE_MS`). After one failed read, requests no longer wait for the next read of this key.
   */
  private recheck(hash: string, key: CachedKey): CachedKey | undefined | Promise<CachedKey | undefined> {
    const isUsable = Math.abs(this.clock.now() - key.checkedAtMs) < LONGEST_STALE_MS;
    const loaded = this.load(hash);
    if (!isUsable) return loaded;
    if (key.recheckFailed) {
      loaded.catch(() => undefined);
      this.staleUses.inc();
      return key;
    }
    return loaded.catch(() => {
      key.recheckFailed = true;
      this.staleUses.inc();
      return key;
    });
  }

  /**
   * Queues the lookup of a hash, or joins the pending lookup of the same hash. Rejects if too many lookups are pending.
   */
  private load(hash: string): Promise<CachedKey | undefined> {
    const pending = this.waiting.get(hash);
    if (pending !== undefined) return pending.promise;
    if (this.waiting.size >= MAX_WAITING) return Promise.reject(keyLookupUnavailable());
    this.misses.inc();
    const waiting = Promise.withResolvers<CachedKey | undefined>();
    this.waiting.set(hash, waiting);
    this.queue.push(hash);
    if (this.queries < MAX_QUERIES) void this.query();
    return waiting.promise;
  }

  /** Runs the queued lookups in batches until the queue is empty. Never rejects. */
  private async query(): Promise<void> {
    this.queries += 1;
    while (this.queue.length > 0) {
      const hashes = this.queue.splice(0, HASHES_PER_QUERY);
      try {
        const read = await this.read(hashes);
        this.staleness.isDatabaseUnavailable = false;
        const found = new Map(read.records.map((record) => [record.hash, record]));
        for (const hash of hashes) this.settle(hash, found.get(hash), read);
      } catch (error) {
        this.staleness.isDatabaseUnavailable = true;
        for (const hash of hashes) {
          this.waiting.get(hash)?.reject(keyLookupUnavailable(error));
          this.waiting.delete(hash);
        }
      }
    }
    this.queries -= 1;
  }

  /**
   * Reads the records of hashes. Repeats the query if an invalidation arrives during it. After `READ_ATTEMPTS`
   * attempts, returns the result with `current` false.
   */
  private async read(hashes: readonly string[]): Promise<QueryResult> {
    for (let attempt = 1; ; attempt++) {
      const before = this.invalidations;
      const beganMs = this.clock.now();
      const records = await this.lookup.findByHashes(hashes);
      const current = before === this.invalidations;
      if (current || attempt === READ_ATTEMPTS) return { records, current, beganMs };
    }
  }

  /** Resolves the pending lookup of a hash, and caches the result if it is current. */
  private settle(hash: string, record: ApiKeyRecord | undefined, { current, beganMs }: QueryResult): void {
    const waiting = this.waiting.get(hash);
    this.waiting.delete(hash);
    if (record === undefined) {
      this.known.delete(hash);
      // Without the bus, this process is not informed of keys that another process imports.
      const ttl = this.bus.connectedSince() === null ? FRESH_WITHOUT_BUS_MS : UNKNOWN_MS;
      if (current) this.unknown.set(hash, true, { ttl });
      waiting?.resolve(undefined);
      return;
    }
    const compact = this.compactor.compactRecord(record, this.known.accountPartOf(record.accountId));
    const key = this.factory.build(compact, beganMs, this.known.get(hash));
    if (current) this.known.set(key);
    waiting?.resolve(key);
  }

  private invalidate(change: Invalidation): void {
    this.invalidations += 1;
    // The change may be an import, after which an unknown secret can belong to a key.
    this.unknown.clear();
    for (const { record } of this.known.ofAccount(change.accountId)) {
      if (change.type === 'account' || record.keyId === change.keyId) this.known.delete(record.hash);
    }
  }
}

/** Creates the 503 for a key that could not be looked up. */
export function keyLookupUnavailable(cause?: unknown): Problem {
  return new Problem('authentication_unavailable', {
    detail: 'The API key could not be checked. This says nothing about the key; try again shortly.',
    headers: retryFields(0),
    cause,
  });
}
