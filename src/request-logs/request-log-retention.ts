/**
 * Forgets the log of days that are older than `usage.requestLogRetention`, and makes the partitions of days to come.
 * Belongs to the worker role; any number of workers may do it at once.
 */
import { sql, type Kysely } from 'kysely';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Tables } from '../stores/database/schema.js';
import type { Clock } from '../platform/clock.js';
import { dayAfter, dayOf, keptSinceMs } from './days.js';
import { dropPartitionsBefore, makePartitions } from './partitions.js';
import { neverStopped, type IsStopped } from '../platform/repeated-run.js';

/** Today, and as many days as nobody may look after it. */
const DAYS_AHEAD = [0, 1, 2, 3];
/** Rows of one statement on SQLite: others wait for the database no longer than that takes. */
const ROWS_AT_ONCE = 2_000;

/** RequestLogRetention looks after the days of the log. */
export class RequestLogRetention {
  /** @param retentionDays as the configuration says now; 0: no log is kept. */
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly kind: DatabaseHandle['kind'],
    private readonly retentionDays: () => number,
    private readonly clock: Clock,
  ) {}

  /** Once. Idempotent; rejects as the database does. @param isStopped true once it is to end early. */
  async run(isStopped: IsStopped = neverStopped): Promise<void> {
    const days = this.retentionDays();
    const nowMs = this.clock.now();
    if (this.kind === 'postgres' && days > 0) {
      await makePartitions(
        this.db,
        DAYS_AHEAD.map((ahead) => dayAfter(nowMs, ahead)),
      );
    }
    // Where nothing is kept any more, all of it goes: also what is said to be of tomorrow.
    const before = days > 0 ? dayOf(keptSinceMs(await this.earliestNow(nowMs), days)) : Number.MAX_SAFE_INTEGER;
    if (this.kind === 'postgres') await dropPartitionsBefore(this.db, before);
    else await this.deleteBefore(before, isStopped);
  }

  /** A clock that has run ahead must not forget everything: of the database's and this process's, the one behind. */
  private async earliestNow(nowMs: number): Promise<number> {
    if (this.kind === 'sqlite') return nowMs;
    const { rows } = await sql<{ now: number }>`
      select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as now
    `.execute(this.db);
    return Math.min(nowMs, rows[0]?.now ?? nowMs);
  }

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
