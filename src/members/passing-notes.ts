/**
 * What is noted on the way and nothing depends on: that somebody was seen, that a token was used. Reading goes on where
 * the database takes no writes: it is full, read-only, in recovery, or another holds the row.
 */
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/log.js';

/** After a note that failed none is tried for so long: a write that hangs must not hold up every request. */
const PAUSE_MS = 10_000;

/** PassingNotes writes them, or does without. */
export class PassingNotes {
  private failedAtMs = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly log: Pick<Logger, 'warn'>,
  ) {}

  /** Writes a note down. Resolves with whether it was; never rejects. */
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
