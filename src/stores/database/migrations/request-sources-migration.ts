/** Rows of request logs say by what a request came in, and which tool it called. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** A process of an older version goes on writing meanwhile, and what it writes came in by the API itself. */
const COLUMNS = [`source text not null default 'rest'`, `tool text not null default ''`];

/** Columns with a default are added without a look at the rows, in both databases. */
export const requestSources: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const column of COLUMNS) await sql.raw(`alter table request_log add column ${column}`).execute(db);
  },
};
