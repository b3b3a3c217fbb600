/**
 * Limits database lookups of credentials for networks with too many rejected requests. All limited networks share a few
 * concurrent lookups, so a flood of random tokens cannot overload the database. Lookups of credentials that were valid
 * before are not limited.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { clientNetwork } from '../../keys/client-network.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';

/** Maximum number of concurrent lookups for all limited networks together. */
const MAX_CONCURRENT = 2;
/** Maximum number of requests of limited networks that wait for a lookup. */
const MAX_WAITING = 20;
const LONGEST_WAIT_MS = 1_000;
/** How long a network is limited after the last call of `limitNetwork`, in milliseconds. */
const WATCH_MS = 60_000;
/** Maximum number of limited networks. If there are more, the least recently used network is no longer limited. */
const MAX_NETWORKS = 10_000;
/** Maximum number of credentials that are remembered as valid. Their lookups never wait. */
const MAX_VALID = 10_000;

/** CredentialLookups runs the credential lookups of one process, and delays or rejects lookups of limited networks. */
export class CredentialLookups {
  private readonly limitedUntil = new LRUCache<string, number>({ max: MAX_NETWORKS });
  private readonly valid = new LRUCache<string, true>({ max: MAX_VALID });
  private readonly waiting = new Set<() => void>();
  private activeLookups = 0;

  constructor(private readonly clock: Clock) {}

  /**
   * Limits the lookups of the network of `ip` for the next minute. Call `limitNetwork` when the network exceeds its
   * limit of rejected requests.
   */
  limitNetwork(ip: string): void {
    this.limitedUntil.set(clientNetwork(ip), this.clock.now() + WATCH_MS);
  }

  /**
   * Runs the lookup `find`. Rejects with the error of `find`. If the network of `ip` is limited, rejects with
   * `too_many_requests` when the queue is full or the wait exceeds a second.
   * @param find looks up the credentials. Rejects with a `Problem` if the credentials are invalid.
   */
  async run<Found>(ip: string, credentials: string, find: () => Promise<Found>): Promise<Found> {
    const digest = hash('sha256', credentials, 'base64url');
    const isUnlimited = !this.isLimited(ip) || this.valid.has(digest);
    if (!isUnlimited && !(await this.acquireSlot())) throw tooManyRequests();
    try {
      const found = await find();
      this.valid.set(digest, true);
      return found;
    } catch (error) {
      if (error instanceof Problem) this.valid.delete(digest);
      throw error;
    } finally {
      if (!isUnlimited) this.releaseSlot();
    }
  }

  private isLimited(ip: string): boolean {
    return (this.limitedUntil.get(clientNetwork(ip)) ?? 0) > this.clock.now();
  }

  /** Waits for a free lookup slot. Resolves to false if the queue is full or the wait timed out. */
  private acquireSlot(): Promise<boolean> {
    if (this.activeLookups < MAX_CONCURRENT) {
      this.activeLookups += 1;
      return Promise.resolve(true);
    }
    if (this.waiting.size >= MAX_WAITING) return Promise.resolve(false);
    return new Promise((resolve) => {
      const admit = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.waiting.delete(admit);
        resolve(false);
      }, LONGEST_WAIT_MS);
      this.waiting.add(admit);
    });
  }

  /** Passes the slot to the next waiting request, or frees the slot. */
  private releaseSlot(): void {
    const [next] = this.waiting;
    if (next === undefined) {
      this.activeLookups -= 1;
      return;
    }
    this.waiting.delete(next);
    next();
  }
}

function tooManyRequests(): Problem {
  return new Problem('too_many_requests', {
    detail: 'Too many requests from this address. Wait 1 second.',
    headers: ['Retry-After', '1'],
  });
}
