/**
 * Records when a webhook endpoint got its URL. Events from before a change of the URL are sent to the new URL only
 * after a member has confirmed this.
 */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** `url_set_at` is null in older rows. Readers then use the time of the last change of the row. */
export const urlTimes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw('alter table webhook_endpoint add column url_set_at bigint').execute(db);
  },
};
