/** Records the origin of each OAuth object, so that no single network or client can fill the table. */
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const COLUMNS = ['network', 'site', 'client'] as const;

export const oauthOrigins: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const column of COLUMNS) {
      const add = db.schema.alterTable('oauth_object');
      await add.addColumn(column, 'text', (text) => text.notNull().defaultTo('')).execute();
    }
    // Each new request counts the unexpired objects of its kind with this index alone.
    const open = db.schema.createIndex('oauth_object_open').on('oauth_object');
    await open.columns(['kind', 'expires_at', ...COLUMNS]).execute();
  },
};
