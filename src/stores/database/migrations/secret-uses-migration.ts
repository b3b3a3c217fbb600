/** When and from where a secret was last used. */
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** During the overlap of a rotation it has to be seen which secret is still in use, and by whom. */
export const secretUses: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('api_key_secret').addColumn('last_used_at', 'bigint').execute();
    await db.schema.alterTable('api_key_secret').addColumn('last_used_ip', 'text').execute();
  },
};
