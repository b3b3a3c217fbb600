/** Finds what an actor has created: at the removal of a member, without a look at every key. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

export const auditCreations: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql
      .raw('create index audit_entry_creations on audit_entry (actor, action, target_id) where target_version = 1')
      .execute(db);
  },
};
