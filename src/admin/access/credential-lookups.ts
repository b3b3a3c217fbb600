/**
 * Looks up credentials in the database. Networks over their limit of rejected requests share a few lookups at a time. A
 * flood of random tokens then cannot overload the database or lock out valid credentials of the same address.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { clientNetwork } from '../../keys/client-network.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';

/** Maximum concurrent lookups for all networks over their limit. */
const MOST_UNDER_WAY = 2;
/** Maximum requests that wait for such a lookup. */
const MOST_WAITING = 20;
const LONGEST_WAIT_MS = 1_000;
/** How long a network is limited after its last request over the limit, in milliseconds. */
const WATCH_MS = 60_000;
/** Maximum number of limited networks. */
const MOST_NETWORKS = 10_000;
/** Maximum number of remembered valid credentials, which never wait. */
const MOST_VALID = 10_000;

/** CredentialLookups runs the lookups of one process. */
export class CredentialLookups {
  private readonly watchedUntil = new LRUCache<string, number>({ max: MOST_NETWORKS });
  private readonly valid = new LRUCache<string, true>({ max: MOST_VALID });
  private readonly waiting = new Set<() => void>();
  private underWay = 0;

  constructor(private readonly clock: Clock) {}

  /** Limits lookups of an address's network from now on. Call it when the network is over its limit. */
  watch(ip: string): void {
    this.watchedUntil.set(clientNetwork(ip), this.clock.now() + WATCH_MS);
  }

  /**
   * Runs a lookup. Rejects as `find` does, or with `too_many_requests` if too many lookups are waiting.
   * @param find rejects with a `Problem` for invalid credentials.
   */
  async run<Found>(ip: string, credentials: string, find: () => Promise<Found>): Promise<Found> {
    const digest = hash('sha256', credentials, 'base64url');
    const isFree = !this.isWatched(ip) || this.valid.has(digest);
    if (!isFree && !(await this.enter())) throw tooMany();
    try {
      const found = await find();
      this.valid.set(digest, true);
      return found;
    } catch (error) {
      if (error instanceof Problem) this.valid.delete(digest);
      throw error;
    } finally {
      if (!isFree) this.leave();
    }
  }

  private isWatched(ip: string): boolean {
    return (this.watchedUntil.get(clientNetwork(ip)) ?? 0) > this.clock.now();
  }

  /** Resolves to false if the queue is full or the wait timed out. */
  private enter(): Promise<boolean> {
    if (this.underWay < MOST_UNDER_WAY) {
      this.underWay += 1;
      return Promise.resolve(true);
    }
    if (this.waiting.size >= MOST_WAITING) return Promise.resolve(false);
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

  private leave(): void {
    const [next] = this.waiting;
    if (next === undefined) {
      this.underWay -= 1;
      return;
    }
    this.waiting.delete(next);
    next();
  }
}

function tooMany(): Problem {
  return new Problem('too_many_requests', {
    detail: 'Too many requests from this address. Wait 1 second.',
    headers: ['Retry-After', '1'],
  });
}
