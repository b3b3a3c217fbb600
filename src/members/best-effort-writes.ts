/**
 * Runs writes that record the last use of sessions and tokens. A request must not fail because the database is full,
 * read-only or in recovery, or because another transaction holds the row.
 */
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/log.js';

/**
 * Time after a failed write in which further writes are skipped. Without this pause, a database that hangs would delay
 * every request.
 */
const PAUSE_MS = 10_000;

/** BestEffortWrites runs database writes whose failure must not affect the request. */
export class BestEffortWrites {
  private failedAtMs = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly log: Pick<Logger, 'warn'>,
  ) {}

  /**
   * Runs a write. Resolves to false if the write fails, or if the write is skipped because of an earlier failure. Logs
   * failures and never rejects.
   */
  async write(update: () => Promise<unknown>): Promise<boolean> {
    const now = this.clock.now();
    if (now >= this.failedAtMs && now - this.failedAtMs < PAUSE_MS) return false;
    try {
      await update();
      return true;
    } catch (error) {
      this.failedAtMs = this.clock.now();
      const fields = { event: 'last_use_not_noted', err: error };
      this.log.warn(fields, 'The last use of a session or token could not be recorded');
      return false;
    }
  }
}
