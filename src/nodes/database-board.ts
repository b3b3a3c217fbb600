/**
 * Statement board in PostgreSQL, for several processes without Redis. Ages use the database's clock. SQLite without
 * Redis allows one process only, which needs no board.
 */
import { sql, type Kysely } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import { MOST_NODES, STATEMENT_LIFE_MS, type StatementBoard, type WrittenStatement } from './statement-board.js';

const NOW_MS = sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`;

export class DatabaseBoard implements StatementBoard {
  constructor(private readonly db: Kysely<Tables>) {}

  async put(id: string, text: string): Promise<void> {
    await this.db
      .deleteFrom('node_statement')
      .where('said_at', '<', sql<number>`${NOW_MS} - ${STATEMENT_LIFE_MS}`)
      .execute();
    await this.db
      .insertInto('node_statement')
      .values({ id, said_at: NOW_MS, statement: text })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ said_at: NOW_MS, statement: text }))
      .execute();
  }

  async all(): Promise<WrittenStatement[]> {
    const rows = await this.db
      .selectFrom('node_statement')
      .select(['id', 'statement', sql<number>`${NOW_MS} - said_at`.as('age')])
      .where('said_at', '>=', sql<number>`${NOW_MS} - ${STATEMENT_LIFE_MS}`)
      .orderBy('said_at', 'desc')
      .limit(MOST_NODES)
      .execute();
    return rows.map(({ id, statement, age }) => ({ id, text: statement, ageMs: age }));
  }

  async remove(id: string): Promise<void> {
    await this.db.deleteFrom('node_statement').where('id', '=', id).execute();
  }

  close(): void {
    // The database handle belongs to the caller.
  }
}
