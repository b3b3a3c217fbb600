/**
 * Computes the longest time for which this process may still accept a revoked key, for a metric. Applies to changes
 * that were published. Changes that could not be published are published again every second.
 */
import type { Clock } from '../platform/clock.js';
import type { InvalidationBus } from './api-key.js';

/** How long a cached key is trusted while the bus is down, in ms. Documented as the maximum delay of a revocation. */
export const FRESH_WITHOUT_BUS_MS = 10_000;
/** How long a cached key is accepted while the database is unavailable, in ms. */
export const LONGEST_STALE_MS = 3_600_000;

export class KeyStaleness {
  /** Whether the last database query for keys failed. Set by `ApiKeyCache`. */
  isDatabaseUnavailable = false;
  /** Start of the process, in ms since the epoch. No cached key was read earlier. */
  private readonly startedMs: number;

  constructor(
    private readonly bus: InvalidationBus,
    private readonly clock: Clock,
  ) {
    this.startedMs = clock.now();
  }

  /** Maximum time, in ms, for which a key can have been revoked while this process still accepts it. */
  get mostMs(): number {
    const now = this.clock.now();
    const since = this.bus.connectedSince();
    const { untilMs, gapFromMs } = this.bus.lastReceived();
    const unheardMs = Math.max(0, now - Math.max(untilMs, this.startedMs));
    if (since === null) return Math.min(this.trustedMs, unheardMs);
    // Keys that were read before the gap are trusted for at most `trustedMs`.
    if (gapFromMs === null || now - since >= this.trustedMs) return unheardMs;
    return Math.max(unheardMs, Math.min(this.trustedMs, now - Math.max(gapFromMs, this.startedMs)));
  }

  private get trustedMs(): number {
    return this.isDatabaseUnavailable ? LONGEST_STALE_MS : FRESH_WITHOUT_BUS_MS;
  }
}
