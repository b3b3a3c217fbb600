/** A key cache whose database and bus the test controls. */
import type { GatewayFile } from '../../src/config/model/schema.js';
import type { ApiKeyLookup, ApiKeyRecord, Heard, Invalidation, InvalidationBus } from '../../src/keys/api-key.js';
import { ApiKeyCache } from '../../src/keys/api-key-cache.js';
import { CachedKeyFactory, type CachedKey } from '../../src/keys/cached-key.js';
import { ScopeSets } from '../../src/keys/scopes.js';
import { METRICS } from '../../src/platform/metrics.js';
import { Problem } from '../../src/platform/problems/errors.js';
import { keyRecord } from './key-records.js';

const PLANS = {
  starter: { key: { minute: 60 }, account: {}, onRedisLoss: 'local', charge: 'all' },
} as const satisfies GatewayFile['plans'];

/** Returns a database row with the key ID `key_<hash>`. */
export const record = (hash: string, changes: Partial<ApiKeyRecord> = {}): ApiKeyRecord =>
  keyRecord({ hash, keyId: `key_${hash}`, ...changes });

/** A database that can be slow or unavailable, and records its queries. */
export class Database implements ApiKeyLookup {
  readonly rows = new Map<string, ApiKeyRecord>();
  readonly queries: (readonly string[])[] = [];
  down = false;
  /** If set, each query waits for this promise after reading its rows. */
  gate: Promise<void> | undefined;

  async findByHashes(hashes: readonly string[]): Promise<readonly ApiKeyRecord[]> {
    this.queries.push(hashes);
    if (this.down) throw new Error('the database is away');
    const found = hashes.flatMap((hash) => this.rows.get(hash) ?? []);
    await this.gate;
    return found;
  }
}

/** An invalidation bus in this process. `since` is the time of its connection, or null while it is disconnected. */
export class Bus implements InvalidationBus {
  private readonly listeners: ((change: Invalidation) => void)[] = [];
  since: number | null = 0;
  async publish(change: Invalidation): Promise<void> {
    for (const listener of this.listeners) listener(change);
  }
  subscribe(listener: (change: Invalidation) => void): void {
    this.listeners.push(listener);
  }
  lastReceived(): Heard {
    return { untilMs: this.since === null ? -Infinity : Infinity, gapFromMs: null };
  }

  connectedSince(): number | null {
    return this.since;
  }
}

/**
 * Creates a cache with its database, bus and clock.
 * @param mostKnown maximum number of cached keys
 */
export function setUp(mostKnown?: number) {
  const clock = { nowMs: 1_800_000_000_000, now: () => clock.nowMs };
  const database = new Database();
  const bus = new Bus();
  const factory = new CachedKeyFactory(PLANS, new ScopeSets());
  const cache = new ApiKeyCache(database, factory, bus, clock, mostKnown);
  const find = async (hash: string): Promise<CachedKey | undefined> => cache.find(hash);
  return { clock, database, bus, cache, find };
}

/** Returns the number of lookups so far, by source of the record. */
export const series = (result: 'memory' | 'memory_unknown' | 'database') => METRICS.keyLookups.series(result).value;

/** Returns the number of cache entries. */
export function countEntries(cache: ApiKeyCache, kind: 'known' | 'unknown'): number {
  cache.readGauges();
  return METRICS.keyCacheEntries.series(kind).value;
}

/**
 * Returns the problem that a lookup was rejected with.
 * @throws Error if the lookup was not rejected with a problem
 */
export async function refusalOf(answer: unknown): Promise<Problem> {
  const error = await Promise.resolve(answer).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Problem)) throw new Error(`not refused: ${String(error)}`);
  return error;
}
