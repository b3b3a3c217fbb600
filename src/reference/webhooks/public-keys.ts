/**
 * Reads the public keys of webhook endpoints, for requests without authentication. Requests that arrive during a
 * database query share the next query. While queries fail, requests get cached keys that are up to an hour old.
 */
import { LRUCache } from 'lru-cache';
import type { WebhookPublicKey, WebhookSecrets } from '../../webhooks/signing/secret-store.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import { retryFields } from '../../platform/problems/retry-after.js';

/** Maximum number of endpoints per query, far below the parameter limits of SQLite and PostgreSQL. */
const ENDPOINTS_PER_QUERY = 500;
/** Maximum number of endpoints that wait for a query. Requests for further endpoints are rejected. */
const MAX_WAITING = 2_000;
/** Maximum number of endpoints in the cache. */
const MAX_CACHED = 10_000;
/** Cache lifetime, in milliseconds. A new key appears in responses after this time at the latest. */
const FRESH_MS = 5_000;
/** Cache lifetime while queries fail or too many requests wait, in milliseconds. */
const STALE_MS = 3_600_000;
const ENDPOINT_ID = /^whe_[0-9a-z]{25}$/;

/** CachedKeys has the keys of an endpoint, and the time at which they were read. */
interface CachedKeys {
  readonly keys: readonly WebhookPublicKey[];
  /** When the keys were read, in milliseconds since the epoch. */
  readonly readMs: number;
}

type Keys = readonly WebhookPublicKey[];
type Settled = PromiseWithResolvers<Keys>;

/** PublicKeys reads the public keys of endpoints from the database, and caches the keys. */
export class PublicKeys {
  /** Cached keys by endpoint ID. Only existing endpoints are cached, so that guessed IDs evict nothing. */
  private readonly cached = new LRUCache<string, CachedKeys>({ max: MAX_CACHED });
  /** Waiting requests by endpoint ID. */
  private waiting = new Map<string, Settled>();
  private isQuerying = false;

  constructor(
    private readonly secrets: Pick<WebhookSecrets, 'publicKeys'>,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the keys that sign webhooks now, the current key first. Returns an empty list if the endpoint does not
   * exist. Without usable cached keys, rejects with `database_unavailable`, or with `gateway_overloaded` if too many
   * requests wait.
   */
  async findKeys(endpointId: string): Promise<Keys> {
    if (!ENDPOINT_ID.test(endpointId)) return [];
    const cached = this.cached.get(endpointId);
    const nowMs = this.clock.now();
    if (cached !== undefined && nowMs - cached.readMs < FRESH_MS) return unexpired(cached.keys, nowMs);
    try {
      return await this.enqueue(endpointId);
    } catch (error) {
      if (cached === undefined || nowMs - cached.readMs >= STALE_MS) throw error;
      return unexpired(cached.keys, nowMs);
    }
  }

  private enqueue(endpointId: string): Promise<Keys> {
    const waiting = this.waiting.get(endpointId);
    if (waiting !== undefined) return waiting.promise;
    if (this.waiting.size >= MAX_WAITING) throw overloaded();
    const settled = Promise.withResolvers<Keys>();
    this.waiting.set(endpointId, settled);
    void this.runQueries();
    return settled.promise;
  }

  /** Runs queries until no request waits. Does nothing if another call already runs queries. */
  private async runQueries(): Promise<void> {
    if (this.isQuerying) return;
    this.isQuerying = true;
    while (this.waiting.size > 0) await this.settleWaiting([...this.waiting].slice(0, ENDPOINTS_PER_QUERY));
    this.isQuerying = false;
  }

  /** Runs one query for the endpoints of `requests`, and settles the requests. Never rejects. */
  private async settleWaiting(requests: readonly (readonly [string, Settled])[]): Promise<void> {
    for (const [id] of requests) this.waiting.delete(id);
    const nowMs = this.clock.now();
    try {
      const found = await this.secrets.publicKeys(
        requests.map(([id]) => id),
        nowMs,
      );
      for (const [id, { resolve }] of requests) {
        const keys = found.get(id) ?? [];
        if (keys.length > 0) this.cached.set(id, { keys, readMs: nowMs });
        else this.cached.delete(id);
        resolve(keys);
      }
    } catch (error) {
      const problem = unavailable(error);
      for (const [, { reject }] of requests) reject(problem);
    }
  }
}

/** Returns the keys that have not expired. */
function unexpired(keys: Keys, nowMs: number): Keys {
  return keys.filter(({ expiresAt }) => expiresAt === null || expiresAt > nowMs);
}

function unavailable(cause: unknown): Problem {
  const detail = 'The database cannot be reached right now. Verify with the keys that you have, or try again.';
  return new Problem('database_unavailable', { detail, cause, headers: retryFields(0) });
}

function overloaded(): Problem {
  const detail = 'Too many requests for public keys. Verify with the keys that you have, or try again.';
  return new Problem('gateway_overloaded', { detail, headers: retryFields(0) });
}
