/**
 * Deletes expired records from the database. Runs in the worker role, on any number of workers at once. Records in
 * Redis expire by themselves.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import type { RecordTime } from './database-records.js';
import { neverStopped, type IsStopped } from '../platform/repeated-run.js';

/** Maximum rows per statement. With their responses they take some megabytes, and other statements wait meanwhile. */
const ROWS_AT_ONCE = 50;
/** Pause between statements, to let others run. */
const PAUSE_MS = 20;

export class RecordSweep {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: RecordTime,
  ) {}

  /** Deletes all expired records in batches. Returns how many. Rejects with the error of the database. */
  async run(isStopped: IsStopped = neverStopped): Promise<number> {
    for (let total = 0; ;) {
      const deleted = await this.deleteSome();
      total += deleted;
      if (deleted < ROWS_AT_ONCE || isStopped()) return total;
      await sleep(PAUSE_MS);
    }
  }

  private async deleteSome(): Promise<number> {
    const old = this.db
      .selectFrom('idempotent_request')
      .select(['api_key_id', 'key_hash'])
      .where('expires_at', '<=', this.now())
      .orderBy('expires_at')
      .limit(ROWS_AT_ONCE);
    const result = await this.db
      .deleteFrom('idempotent_request')
      .where(({ eb, refTuple }) => eb(refTuple('api_key_id', 'key_hash'), 'in', old.$asTuple('api_key_id', 'key_hash')))
      // Skips records that were claimed again in the meantime.
      .where('expires_at', '<=', this.now())
      .executeTakeFirst();
    return Number(result.numDeletedRows);
  }
}
