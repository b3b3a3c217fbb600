/**
 * Forgets records in the database whose time is over. Belongs to the worker role; any number of workers may do it at
 * once. In Redis they go by themselves.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import type { RecordTime } from './database-records.js';
import { neverStopped, type IsStopped } from '../platform/repeated-run.js';

/** Rows of one statement: with their responses some megabytes, and others wait for no longer than that takes. */
const ROWS_AT_ONCE = 50;
/** Between two statements, so that others come in. */
const PAUSE_MS = 20;

/** RecordSweep looks after them. */
export class RecordSweep {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: RecordTime,
  ) {}

  /** Runs once. Rejects as the database does. Resolves with how many records it has forgotten. */
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
      // Claimed anew in this moment.
      .where('expires_at', '<=', this.now())
      .executeTakeFirst();
    return Number(result.numDeletedRows);
  }
}
