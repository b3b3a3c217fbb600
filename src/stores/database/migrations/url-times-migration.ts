/** Records when a webhook endpoint got its URL: events from before it go there only for a confirmed member. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Null: from before this column. The last change of the row stands in for it. */
export const urlTimes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw('alter table webhook_endpoint add column url_set_at bigint').execute(db);
  },
};
