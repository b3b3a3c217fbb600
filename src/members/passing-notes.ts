/**
 * Best-effort writes of times of last use. A request must not fail because the database is full, read-only or in
 * recovery, or because another transaction holds the row.
 */
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/log.js';

/** Pause after a failed write, so that a write that hangs does not delay every request. */
const PAUSE_MS = 10_000;

/** PassingNotes writes what a request can do without. */
export class PassingNotes {
  private failedAtMs = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly log: Pick<Logger, 'warn'>,
  ) {}

  /** Runs a write. Returns whether it succeeded; never rejects. */
  async write(note: () => Promise<unknown>): Promise<boolean> {
    const now = this.clock.now();
    if (now >= this.failedAtMs && now - this.failedAtMs < PAUSE_MS) return false;
    try {
      await note();
      return true;
    } catch (error) {
      this.failedAtMs = this.clock.now();
      const fields = { event: 'last_use_not_noted', err: error };
      this.log.warn(fields, 'When a session or token was last used cannot be written down');
      return false;
    }
  }
}
