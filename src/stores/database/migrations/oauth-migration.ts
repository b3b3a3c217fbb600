/** Creates the table of the authorization server, and marks keys that belong to an OAuth client. */
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Columns of keys through which a person has authorized an OAuth client. */
const KEY_COLUMNS = ['oauth_client_id', 'oauth_client_name', 'oauth_member_id'] as const;

/** Adds one column per statement, because SQLite requires that. */
export const oauth: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const column of KEY_COLUMNS) await db.schema.alterTable('api_key').addColumn(column, 'text').execute();
    await db.schema
      .createTable('oauth_object')
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('hash', 'text', (column) => column.notNull())
      .addColumn('api_key_id', 'text')
      .addColumn('payload', 'text', (column) => column.notNull())
      .addColumn('consumed_at', 'bigint')
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('oauth_object_pkey', ['kind', 'hash'])
      .execute();
    await db.schema.createIndex('oauth_object_api_key_id').on('oauth_object').column('api_key_id').execute();
    await db.schema.createIndex('oauth_object_expires_at').on('oauth_object').column('expires_at').execute();
  },
};
