/**
 * How long ago a key may have been revoked, at most, and still be let in: what a process knows of what it may have
 * missed. It holds for every change that was announced; one whose announcement failed is said again every second.
 */
import type { Clock } from '../platform/clock.js';
import type { InvalidationBus } from './api-key.js';

/** How long a record is trusted without word from the bus: the stated bound on a revocation while the bus is down. */
export const FRESH_WITHOUT_BUS_MS = 10_000;
/** How long a known key goes on while the database is away. */
export const LONGEST_STALE_MS = 3_600_000;

export class KeyStaleness {
  /** Whether the last records that were asked for could not be read. */
  isDatabaseAway = false;
  /** Nothing is in memory that was read before. */
  private readonly startedMs: number;

  constructor(
    private readonly bus: InvalidationBus,
    private readonly clock: Clock,
  ) {
    this.startedMs = clock.now();
  }

  /** Milliseconds. */
  get mostMs(): number {
    const now = this.clock.now();
    const since = this.bus.connectedSince();
    const { untilMs, gapFromMs } = this.bus.heard();
    const unheardMs = Math.max(0, now - Math.max(untilMs, this.startedMs));
    if (since === null) return Math.min(this.trustedMs, unheardMs);
    // What was read before the gap and has not been read again since is trusted no longer than that.
    if (gapFromMs === null || now - since >= this.trustedMs) return unheardMs;
    return Math.max(unheardMs, Math.min(this.trustedMs, now - Math.max(gapFromMs, this.startedMs)));
  }

  private get trustedMs(): number {
    return this.isDatabaseAway ? LONGEST_STALE_MS : FRESH_WITHOUT_BUS_MS;
  }
}
