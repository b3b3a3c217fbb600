/** Creates the table of status reports, in which gateways publish their status. The row type is in `schema.ts`. */
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The table is used only with PostgreSQL and without Redis. */
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
