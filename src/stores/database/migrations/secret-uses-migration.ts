/** Records when and from which address a secret was last used. */
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** During a rotation, operators see whether the previous secret is still used, and from which address. */
export const secretUses: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('api_key_secret').addColumn('last_used_at', 'bigint').execute();
    await db.schema.alterTable('api_key_secret').addColumn('last_used_ip', 'text').execute();
  },
};
