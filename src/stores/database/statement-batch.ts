/**
 * Executes several statements as a batch. SQLite runs in another thread, and a batch is a single message to it. The
 * event loop therefore causes no delay between the statements.
 */
import type { CompiledQuery, Kysely, QueryResult } from 'kysely';
import { kindOf } from './database-kind.js';
import type { Tables } from './schema.js';
import { SqliteWorkerConnection } from './sqlite-dialect.js';

type Results = readonly QueryResult<unknown>[];

/**
 * Executes statements in order until one fails. If `db` is a transaction, the statements belong to that transaction.
 * Otherwise each statement takes effect by itself. Rejects with the error of the failed statement.
 */
export function executeBatch(db: Kysely<Tables>, queries: readonly CompiledQuery[]): Promise<Results> {
  return db.getExecutor().provideConnection(async (connection) => {
    if (connection instanceof SqliteWorkerConnection) return connection.executeBatch(queries, false);
    const results: QueryResult<unknown>[] = [];
    for (const query of queries) results.push(await connection.executeQuery(query));
    return results;
  });
}

/**
 * Executes all statements or none. If `db` is a transaction, the statements belong to that transaction. Otherwise they
 * run in a new transaction. Rejects with the error of the failed statement.
 */
export function executeBatchInTransaction(db: Kysely<Tables>, queries: readonly CompiledQuery[]): Promise<Results> {
  if (db.isTransaction) return executeBatch(db, queries);
  if (kindOf(db) === 'postgres') return db.transaction().execute((trx) => executeBatch(trx, queries));
  return db
    .getExecutor()
    .provideConnection((connection) => (connection as SqliteWorkerConnection).executeBatch(queries, true));
}
