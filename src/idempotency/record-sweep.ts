/**
 * Deletes expired idempotency records from the database. The worker role runs the sweep, possibly in several workers at
 * once. Redis removes its expired records without a sweep.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import type { RecordTime } from './database-records.js';
import { neverStopped, type IsStopped } from '../platform/repeated-run.js';

/**
 * Maximum number of rows that one statement deletes. With their responses, these rows can contain some megabytes, and
 * other statements wait during the deletion.
 */
const BATCH_SIZE = 50;
/** Pause between statements, so that other statements can run. */
const PAUSE_MS = 20;

/** RecordSweep deletes expired records in batches. */
export class RecordSweep {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: RecordTime,
  ) {}

  /**
   * Deletes all expired records in batches.
   * @param isStopped called after each batch; true ends the run early.
   * @returns the number of deleted records. Rejects with the error of the database.
   */
  async run(isStopped: IsStopped = neverStopped): Promise<number> {
    for (let total = 0; ;) {
      const deleted = await this.deleteBatch();
      total += deleted;
      if (deleted < BATCH_SIZE || isStopped()) return total;
      await sleep(PAUSE_MS);
    }
  }

  private async deleteBatch(): Promise<number> {
    const expired = this.db
      .selectFrom('idempotent_request')
      .select(['api_key_id', 'key_hash'])
      .where('expires_at', '<=', this.now())
      .orderBy('expires_at')
      .limit(BATCH_SIZE);
    const result = await this.db
      .deleteFrom('idempotent_request')
      .where(({ eb, refTuple }) =>
        eb(refTuple('api_key_id', 'key_hash'), 'in', expired.$asTuple('api_key_id', 'key_hash')),
      )
      // Skip records that another request has claimed since the subquery selected them.
      .where('expires_at', '<=', this.now())
      .executeTakeFirst();
    return Number(result.numDeletedRows);
  }
}
