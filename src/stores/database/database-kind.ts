/** Determines which database a Kysely handle uses. */
import { PostgresAdapter, type Kysely } from 'kysely';
import type { Tables } from './schema.js';

export type DatabaseKind = 'sqlite' | 'postgres';

/** Returns the kind of database that a handle or transaction uses. */
export function kindOf(db: Kysely<Tables>): DatabaseKind {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite';
}
