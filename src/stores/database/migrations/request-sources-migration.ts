/** Adds the source of a request (API or MCP) and the called tool to request logs. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The defaults are correct for older processes, which keep writing during an upgrade and serve no MCP. */
const COLUMNS = [`source text not null default 'rest'`, `tool text not null default ''`];

/** Neither database rewrites rows to add a column with a default. */
export const requestSources: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const column of COLUMNS) await sql.raw(`alter table request_log add column ${column}`).execute(db);
  },
};
