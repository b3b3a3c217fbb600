/** What the authorization server keeps, and which keys are an OAuth client's. */
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Of a key that a person has let a client in by. */
const KEY_COLUMNS = ['oauth_client_id', 'oauth_client_name', 'oauth_member_id'] as const;

/** One column a statement: SQLite takes no more. */
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
