/** Records when the previous secret of a key stops working. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The time is stored with the key, so that lists and rotations need not read the secrets. The migration updates only
 * keys that were rotated, because an update of a million keys would delay the start too long.
 */
export const previousSecrets: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('api_key').addColumn('previous_secret_expires_at', 'bigint').execute();
    await sql`
      update api_key set previous_secret_expires_at =
        (select max(expires_at) from api_key_secret where api_key_secret.api_key_id = api_key.id)
      where oauth_client_id is null
        and id in (select api_key_id from api_key_secret where expires_at is not null)
    `.execute(db);
  },
};
