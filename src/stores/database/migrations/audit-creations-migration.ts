/**
 * Indexes the audit entries that name the creator of a key or endpoint, so that removing a member does not scan the
 * audit log.
 */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The index filters by action instead of version, because entries older than `0010_versions` have no version. */
const INDEX = `
  create index audit_entry_creations on audit_entry (actor, action, target_id)
  where action = 'api_key.created' or action = 'webhook_endpoint.created'`;

export const auditCreations: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw(INDEX).execute(db);
  },
};
