/** Compares the collation of the database with the order in which IDs are created. */
import { sql, type Kysely } from 'kysely';
import { kindOf } from './database-kind.js';
import { ALPHABET } from './ids.js';
import { jsonRows } from './json-rows.js';
import type { Tables } from './schema.js';

const COLUMNS = [
  { name: 'one', type: 'text' },
  { name: 'next', type: 'text' },
] as const;

const known = new WeakMap<Kysely<Tables>, boolean>();

/**
 * Reports whether the database sorts IDs by their bytes, and therefore by their times. Some collations of PostgreSQL
 * don't: Estonian sorts `z` before `t`, and Czech sorts `ch` after `h`. The first call asks the database.
 */
export async function sortsIdsByTime(db: Kysely<Tables>): Promise<boolean> {
  // SQLite compares bytes.
  if (kindOf(db) === 'sqlite') return true;
  let isSorted = known.get(db);
  if (isSorted === undefined) {
    isSorted = await comparesPairs(db);
    known.set(db, isSorted);
  }
  return isSorted;
}

/** Compares each pair of letters with the next pair, because a collation can treat two letters as one. */
async function comparesPairs(db: Kysely<Tables>): Promise<boolean> {
  const letters = [...ALPHABET];
  const pairs = letters.flatMap((first) => letters.map((second) => first + second));
  const rows = pairs.slice(1).map((next, at) => [pairs[at]!, next]);
  const { rows: results } = await sql<{ is_sorted: boolean }>`
    select bool_and(one < next) as is_sorted from ${jsonRows('postgres', COLUMNS, rows, 'pairs')}`.execute(db);
  return results[0]?.is_sorted === true;
}
