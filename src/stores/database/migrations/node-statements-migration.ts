/** The table of what gateways say of themselves; the row type is in `schema.ts`. */
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Where there is no Redis for what gateways say of themselves. */
export const nodeStatements: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('node_statement')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('said_at', 'bigint', (column) => column.notNull())
      .addColumn('statement', 'text', (column) => column.notNull())
      .execute();
  },
};
