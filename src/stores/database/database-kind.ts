/** Which of the two databases a handle of Kysely's is on, for whoever is given no more than that. */
import { PostgresAdapter, type Kysely } from 'kysely';
import type { Tables } from './schema.js';

export type DatabaseKind = 'sqlite' | 'postgres';

/** The kind of the database that a handle, or a transaction, is on. */
export function kindOf(db: Kysely<Tables>): DatabaseKind {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite';
}
