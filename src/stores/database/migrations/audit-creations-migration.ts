/** Finds the keys and endpoints that an actor created, so that removing a member reads no table as a whole. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** By action and not by version: entries from before `0010_versions` have none. */
const INDEX = `
  create index audit_entry_creations on audit_entry (actor, action, target_id)
  where action = 'api_key.created' or action = 'webhook_endpoint.created'`;

export const auditCreations: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw(INDEX).execute(db);
  },
};
