/**
 * Public keys of webhook endpoints, available without authentication. One query at a time serves all requests that
 * arrived meanwhile. Results are cached for times when the database is unavailable.
 */
import { LRUCache } from 'lru-cache';
import type { WebhookPublicKey, WebhookSecrets } from '../../webhooks/signing/secret-store.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import { retryFields } from '../../platform/problems/retry-after.js';

/** Far below both databases' limits on parameters. */
const ENDPOINTS_PER_QUESTION = 500;
/** Maximum number of waiting requests. Further ones are refused. */
const MOST_WAITING = 2_000;
const MOST_KEPT = 10_000;
/** Cache lifetime, and so the maximum delay of a new key. */
const FRESH_MS = 5_000;
/** Cache lifetime while the database is unavailable. */
const KEPT_MS = 3_600_000;
const ENDPOINT_ID = /^whe_[0-9a-z]{25}$/;

interface Kept {
  readonly keys: readonly WebhookPublicKey[];
  readonly readMs: number;
}

type Keys = readonly WebhookPublicKey[];
type Settled = PromiseWithResolvers<Keys>;

/** PublicKeys finds the public keys of endpoints. */
export class PublicKeys {
  /** Only existing endpoints are cached, so that guessed IDs evict nothing. */
  private readonly kept = new LRUCache<string, Kept>({ max: MOST_KEPT });
  private waiting = new Map<string, Settled>();
  private isAsking = false;

  constructor(
    private readonly secrets: Pick<WebhookSecrets, 'publicKeys'>,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the keys that sign webhooks now, the current one first. Returns none if the endpoint does not exist.
   * Rejects with `database_unavailable`, or `gateway_overloaded` if too many requests wait.
   */
  async of(endpointId: string): Promise<Keys> {
    if (!ENDPOINT_ID.test(endpointId)) return [];
    const kept = this.kept.get(endpointId);
    const nowMs = this.clock.now();
    if (kept !== undefined && nowMs - kept.readMs < FRESH_MS) return live(kept.keys, nowMs);
    try {
      return await this.ask(endpointId);
    } catch (error) {
      if (kept === undefined || nowMs - kept.readMs >= KEPT_MS) throw error;
      return live(kept.keys, nowMs);
    }
  }

  private ask(endpointId: string): Promise<Keys> {
    const asked = this.waiting.get(endpointId);
    if (asked !== undefined) return asked.promise;
    if (this.waiting.size >= MOST_WAITING) throw overloaded();
    const settled = Promise.withResolvers<Keys>();
    this.waiting.set(endpointId, settled);
    void this.work();
    return settled.promise;
  }

  private async work(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    while (this.waiting.size > 0) await this.settleWaiting([...this.waiting].slice(0, ENDPOINTS_PER_QUESTION));
    this.isAsking = false;
  }

  /** Runs a query and settles all its waiting requests. Never rejects. */
  private async settleWaiting(asked: readonly (readonly [string, Settled])[]): Promise<void> {
    for (const [id] of asked) this.waiting.delete(id);
    const nowMs = this.clock.now();
    try {
      const found = await this.secrets.publicKeys(
        asked.map(([id]) => id),
        nowMs,
      );
      for (const [id, { resolve }] of asked) {
        const keys = found.get(id) ?? [];
        if (keys.length > 0) this.kept.set(id, { keys, readMs: nowMs });
        else this.kept.delete(id);
        resolve(keys);
      }
    } catch (error) {
      const problem = unavailable(error);
      for (const [, { reject }] of asked) reject(problem);
    }
  }
}

function live(keys: Keys, nowMs: number): Keys {
  return keys.filter(({ expiresAt }) => expiresAt === null || expiresAt > nowMs);
}

function unavailable(cause: unknown): Problem {
  const detail = 'The database cannot be reached right now. Verify with the keys that you have, or try again.';
  return new Problem('database_unavailable', { detail, cause, headers: retryFields(0) });
}

function overloaded(): Problem {
  const detail = 'Too many ask for public keys. Verify with the keys that you have, or try again.';
  return new Problem('gateway_overloaded', { detail, headers: retryFields(0) });
}
