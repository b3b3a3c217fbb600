/** Deletes usage and month counts that are older than `usage.retention`, in batches of bounded size. */
import { sql, type Kysely } from 'kysely';
import type { Clock } from '../../platform/clock.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { Tables } from '../../stores/database/schema.js';
import { dayPeriodAt } from '../model/month-period.js';
import { neverStopped, type IsStopped } from '../../platform/repeated-run.js';

const DAY_MS = 86_400_000;
/** Maximum number of rows per statement. Bounds how long other statements wait for the database. */
const ROWS_AT_ONCE = 5_000;
/** Retention of ended nodes, in days. This is longer than any process tries to write its last batch. */
const NODE_RETENTION_DAYS = 31;

/** UsageRetention deletes usage and month counts older than `retentionDays`, and ended nodes. */
export class UsageRetention {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly kind: DatabaseHandle['kind'],
    private readonly retentionDays: number,
    private readonly clock: Clock,
  ) {}

  /**
   * Deletes old usage, month counts and nodes. Resolves to the number of deleted rows. Rejects if the database does. A
   * later call deletes the remaining rows.
   */
  async deleteOld(isStopped: IsStopped = neverStopped): Promise<number> {
    const now = this.clock.now();
    // Keep one more day, so that no time zone loses a day too early.
    const day = dayPeriodAt(now - (this.retentionDays + 1) * DAY_MS).label;
    const nodeMs = now - NODE_RETENTION_DAYS * DAY_MS;
    return (
      (await this.deleteAll('usage_daily', sql`day < ${day}`, isStopped)) +
      (await this.deleteAll('quota_counter', sql`period < ${day}`, isStopped)) +
      (await this.deleteAll('usage_node', sql`buried_at > 0 and updated_at < cast(${nodeMs} as bigint)`, isStopped))
    );
  }

  private async deleteAll(table: keyof Tables, where: ReturnType<typeof sql>, isStopped: IsStopped): Promise<number> {
    const row = sql.raw(this.kind === 'sqlite' ? 'rowid' : 'ctid');
    for (let all = 0; ;) {
      const { numAffectedRows = 0n } = await sql`
        delete from ${sql.table(table)} where ${row} in
          (select ${row} from ${sql.table(table)} where ${where} limit ${ROWS_AT_ONCE})
      `.execute(this.db);
      all += Number(numAffectedRows);
      if (numAffectedRows < ROWS_AT_ONCE || isStopped()) return all;
    }
  }
}
