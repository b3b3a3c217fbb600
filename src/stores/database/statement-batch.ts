/**
 * Executes several known statements as a batch. On SQLite, which runs in another thread, a batch is one message, so
 * that the event loop causes no delay between the statements.
 */
import type { CompiledQuery, Kysely, QueryResult } from 'kysely';
import { kindOf } from './database-kind.js';
import type { Tables } from './schema.js';
import { SqliteWorkerConnection } from './sqlite-dialect.js';

type Results = readonly QueryResult<unknown>[];

/** Executes statements in order, until one fails. Runs in the open transaction, if `db` is one. */
export function executeBatch(db: Kysely<Tables>, queries: readonly CompiledQuery[]): Promise<Results> {
  return db.getExecutor().provideConnection(async (connection) => {
    if (connection instanceof SqliteWorkerConnection) return connection.executeBatch(queries, false);
    const results: QueryResult<unknown>[] = [];
    for (const query of queries) results.push(await connection.executeQuery(query));
    return results;
  });
}

/** Executes all statements or none: in the open transaction, if `db` is one, or in a new one. */
export function executeBatchInTransaction(db: Kysely<Tables>, queries: readonly CompiledQuery[]): Promise<Results> {
  if (db.isTransaction) return executeBatch(db, queries);
  if (kindOf(db) === 'postgres') return db.transaction().execute((trx) => executeBatch(trx, queries));
  return db
    .getExecutor()
    .provideConnection((connection) => (connection as SqliteWorkerConnection).executeBatch(queries, true));
}
