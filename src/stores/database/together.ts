/**
 * Statements that are known beforehand, executed together: on SQLite, which lives in another thread, they are one
 * message there and back, where each would be one by itself, and what is in between waits for the event loop.
 */
import type { CompiledQuery, Kysely, QueryResult } from 'kysely';
import { kindOf } from './database-kind.js';
import type { Tables } from './schema.js';
import { SqliteWorkerConnection } from './sqlite-dialect.js';

type Results = readonly QueryResult<unknown>[];

/** Executes statements one behind the other; the first that fails is the last. In a transaction, in that. */
export function executeTogether(db: Kysely<Tables>, queries: readonly CompiledQuery[]): Promise<Results> {
  return db.getExecutor().provideConnection(async (connection) => {
    if (connection instanceof SqliteWorkerConnection) return connection.executeTogether(queries, false);
    const results: QueryResult<unknown>[] = [];
    for (const query of queries) results.push(await connection.executeQuery(query));
    return results;
  });
}

/** As `executeTogether`, all of them or none; a transaction of their own unless `db` is one. */
export function transactTogether(db: Kysely<Tables>, queries: readonly CompiledQuery[]): Promise<Results> {
  if (db.isTransaction) return executeTogether(db, queries);
  if (kindOf(db) === 'postgres') return db.transaction().execute((trx) => executeTogether(trx, queries));
  return db
    .getExecutor()
    .provideConnection((connection) => (connection as SqliteWorkerConnection).executeTogether(queries, true));
}
