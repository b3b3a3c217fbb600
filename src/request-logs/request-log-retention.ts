/**
 * Deletes request log rows that are older than `usage.requestLogRetention`, and creates partitions for the next days.
 * Runs in the worker role, and possibly in several workers at the same time.
 */
import { sql, type Kysely } from 'kysely';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Tables } from '../stores/database/schema.js';
import type { Clock } from '../platform/clock.js';
import { dayAfter, dayOf, keptSinceMs } from './days.js';
import { dropPartitionsBefore, makePartitions } from './partitions.js';
import { neverStopped, type IsStopped } from '../platform/repeated-run.js';

/** Days for which partitions are created, counted from today. So the log works for some days without a worker. */
const DAYS_AHEAD = [0, 1, 2, 3];
/** Rows per statement on SQLite. Small, so that other statements do not wait long. */
const ROWS_AT_ONCE = 2_000;

/** RequestLogRetention deletes old rows, and creates partitions on PostgreSQL. */
export class RequestLogRetention {
  /** @param retentionDays returns the current number of days; 0 keeps no request log. */
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly kind: DatabaseHandle['kind'],
    private readonly retentionDays: () => number,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates partitions and deletes old rows. Rejects with the database's error. Can be repeated at any time.
   * @param isStopped returns true when the run should end early.
   */
  async run(isStopped: IsStopped = neverStopped): Promise<void> {
    const days = this.retentionDays();
    const nowMs = this.clock.now();
    if (this.kind === 'postgres' && days > 0) {
      await makePartitions(
        this.db,
        DAYS_AHEAD.map((ahead) => dayAfter(nowMs, ahead)),
      );
    }
    // If no request log is kept, delete all rows, including rows with future dates.
    const before = days > 0 ? dayOf(keptSinceMs(await this.earliestNow(nowMs), days)) : Number.MAX_SAFE_INTEGER;
    if (this.kind === 'postgres') await dropPartitionsBefore(this.db, before);
    else await this.deleteBefore(before, isStopped);
  }

  /**
   * Returns the earlier time of process and database, so that a clock that is ahead does not delete everything. On
   * SQLite, returns the time of the process.
   */
  private async earliestNow(nowMs: number): Promise<number> {
    if (this.kind === 'sqlite') return nowMs;
    const { rows } = await sql<{ now: number }>`
      select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as now
    `.execute(this.db);
    return Math.min(nowMs, rows[0]?.now ?? nowMs);
  }

  /** Deletes rows of days before `day` in batches. Only for SQLite. */
  private async deleteBefore(day: number, isStopped: IsStopped): Promise<void> {
    while (!isStopped()) {
      const { numAffectedRows = 0n } = await sql`
        delete from request_log where rowid in
          (select rowid from request_log where day < ${day} order by day limit ${ROWS_AT_ONCE})
      `.execute(this.db);
      if (numAffectedRows < ROWS_AT_ONCE) return;
    }
  }
}
