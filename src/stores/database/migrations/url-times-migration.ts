/** Records when a webhook endpoint got its URL. Older events go there only after a member has confirmed it. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Null for older rows, where the last change of the row is used instead. */
export const urlTimes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw('alter table webhook_endpoint add column url_set_at bigint').execute(db);
  },
};
