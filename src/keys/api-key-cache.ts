/**
 * Cache of API keys. A key is trusted for five minutes while the bus has missed no message, and otherwise for ten
 * seconds. Then it is read again. If the database is unavailable, cached keys work for an hour. Other keys get 503,
 * never 401.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.js';
import { Problem } from '../platform/problems/errors.js';
import { METRICS } from '../platform/metrics.js';
import { retryFields } from '../platform/problems/retry-after.js';
import type { ApiKeyLookup, ApiKeyRecord, Invalidation, InvalidationBus } from './api-key.js';
import { FRESH_WITHOUT_BUS_MS, KeyStaleness, LONGEST_STALE_MS } from './key-staleness.js';
import { RecordKeeper } from './kept-record.js';
import type { CachedKey, CachedKeyFactory } from './cached-key.js';
import { CachedKeys } from './cached-keys.js';

/** How long a record is trusted while the bus is up. */
const FRESH_WITH_BUS_MS = 300_000;
/** How long an unknown hash is cached. */
const UNKNOWN_MS = 60_000;

const MOST_KNOWN = 100_000;
const MOST_UNKNOWN = 10_000;
/** Maximum number of hashes per query, and of concurrent queries. */
const HASHES_PER_QUERY = 100;
const MOST_QUERIES = 2;
const READ_ATTEMPTS = 3;
/** Maximum number of pending lookups. Further requests get 503 immediately. */
const MOST_WAITING = 10_000;

interface Waiting {
  readonly promise: Promise<CachedKey | undefined>;
  readonly resolve: (key: CachedKey | undefined) => void;
  readonly reject: (error: unknown) => void;
}

interface Read {
  readonly records: readonly ApiKeyRecord[];
  /** Whether no invalidation arrived during the query. */
  readonly current: boolean;
  /**
   * Start of the query, which is the age of the records. The bus may have missed a change before the end of the query.
   */
  readonly beganMs: number;
}

export class ApiKeyCache {
  private readonly known: CachedKeys;
  private readonly keeper = new RecordKeeper();
  private readonly unknown = new LRUCache<string, true>({ max: MOST_UNKNOWN, ttl: UNKNOWN_MS });
  private readonly waiting = new Map<string, Waiting>();
  private queue: string[] = [];
  private queries = 0;
  /** Number of invalidations, to detect lookups that may have read an old row. */
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
    mostKnown = MOST_KNOWN,
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
   * Finds a key by the digest of its secret. Undefined if there is none. Returns no promise if the result is in memory.
   * The promise rejects with `authentication_unavailable` if the database is needed and unavailable.
   */
  find(hash: string): CachedKey | undefined | Promise<CachedKey | undefined> {
    const key = this.current(hash);
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

  /** Returns a key if it is in memory, without marking it as used. It may be out of date. */
  peek(hash: string): CachedKey | undefined {
    return this.known.get(hash);
  }

  /**
   * Builds the key of a record with the counts of this process, as requests would find it. The key is not cached, and
   * no use is recorded.
   */
  build(record: ApiKeyRecord): CachedKey {
    const previous = this.known.ofAccount(record.accountId).find((known) => known.record.keyId === record.keyId);
    return this.factory.build(record, this.clock.now(), previous);
  }

  /**
   * Returns a cached key with current limits. Grants end with their month even if the database is unavailable, and
   * plans can change.
   */
  private current(hash: string): CachedKey | undefined {
    const key = this.known.use(hash);
    if (key === undefined) return undefined;
    const isCurrent = key.limitsUntilMs === undefined || this.clock.now() < key.limitsUntilMs;
    if (isCurrent && key.follows(this.factory.rules)) return key;
    const renewed = this.factory.build(key.record, key.checkedAtMs, key, this.clock.now());
    renewed.recheckFailed = key.recheckFailed;
    renewed.useNotedAtMs = key.useNotedAtMs;
    this.known.set(renewed);
    return renewed;
  }

  private isFresh(key: CachedKey): boolean {
    const ageMs = this.clock.now() - key.checkedAtMs;
    // A negative age means that the clock was set back.
    if (ageMs < 0) return false;
    if (ageMs < FRESH_WITHOUT_BUS_MS) return true;
    const since = this.bus.connectedSince();
    return since !== null && key.checkedAtMs >= since && ageMs < FRESH_WITH_BUS_MS;
  }

  /** Reads a cached key again. If the database is unavailable, returns the cached key while it is not too old. */
  private recheck(hash: string, key: CachedKey): CachedKey | undefined | Promise<CachedKey | undefined> {
    const usable = Math.abs(this.clock.now() - key.checkedAtMs) < LONGEST_STALE_MS;
    const loaded = this.load(hash);
    if (!usable) return loaded;
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

  /** Queues a lookup, or joins the pending one for the same hash. */
  private load(hash: string): Promise<CachedKey | undefined> {
    const already = this.waiting.get(hash);
    if (already !== undefined) return already.promise;
    if (this.waiting.size >= MOST_WAITING) return Promise.reject(unavailable());
    this.misses.inc();
    const waiting = Promise.withResolvers<CachedKey | undefined>();
    this.waiting.set(hash, waiting);
    this.queue.push(hash);
    if (this.queries < MOST_QUERIES) void this.query();
    return waiting.promise;
  }

  private async query(): Promise<void> {
    this.queries += 1;
    while (this.queue.length > 0) {
      const hashes = this.queue.splice(0, HASHES_PER_QUERY);
      try {
        const read = await this.read(hashes);
        this.staleness.isDatabaseAway = false;
        const found = new Map(read.records.map((record) => [record.hash, record]));
        for (const hash of hashes) this.settle(hash, found.get(hash), read);
      } catch (error) {
        this.staleness.isDatabaseAway = true;
        for (const hash of hashes) {
          this.waiting.get(hash)?.reject(unavailable(error));
          this.waiting.delete(hash);
        }
      }
    }
    this.queries -= 1;
  }

  /** Reads records, and repeats the query if invalidations arrive during it. Gives up after `READ_ATTEMPTS`. */
  private async read(hashes: readonly string[]): Promise<Read> {
    for (let attempt = 1; ; attempt++) {
      const before = this.invalidations;
      const beganMs = this.clock.now();
      const records = await this.lookup.findByHashes(hashes);
      const current = before === this.invalidations;
      if (current || attempt === READ_ATTEMPTS) return { records, current, beganMs };
    }
  }

  private settle(hash: string, record: ApiKeyRecord | undefined, { current, beganMs }: Read): void {
    const waiting = this.waiting.get(hash);
    this.waiting.delete(hash);
    if (record === undefined) {
      this.known.delete(hash);
      // Without the bus, an import by another process is not heard of.
      const ttl = this.bus.connectedSince() === null ? FRESH_WITHOUT_BUS_MS : UNKNOWN_MS;
      if (current) this.unknown.set(hash, true, { ttl });
      waiting?.resolve(undefined);
      return;
    }
    const kept = this.keeper.keep(record, this.known.account(record.accountId));
    const key = this.factory.build(kept, beganMs, this.known.get(hash));
    if (current) this.known.set(key);
    waiting?.resolve(key);
  }

  private invalidate(change: Invalidation): void {
    this.invalidations += 1;
    // A secret that was tried before its import belongs to a key now.
    this.unknown.clear();
    for (const { record } of this.known.ofAccount(change.accountId)) {
      if (change.type === 'account' || record.keyId === change.keyId) this.known.delete(record.hash);
    }
  }
}

/** Returns the 503 for a key that could not be checked. */
export function unavailable(cause?: unknown): Problem {
  return new Problem('authentication_unavailable', {
    detail: 'The API key could not be checked. This says nothing about the key; try again shortly.',
    headers: retryFields(0),
    cause,
  });
}
