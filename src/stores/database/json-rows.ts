/**
 * Passes many rows to a statement as one bound JSON value. The text of the statement does not depend on the number of
 * rows, so the statement stays compiled. The statement also does not need thousands of parameters. Only the function
 * that unpacks the array differs between the databases.
 */
import { sql, type Kysely, type RawBuilder, type Selectable } from 'kysely';
import type { DatabaseHandle } from './connect.js';
import type { Tables } from './schema.js';

/** JsonColumn describes a column of the rows. The index of a column is the index of its value in each row. */
export interface JsonColumn {
  readonly name: string;
  readonly type: 'text' | 'bigint';
}

/**
 * Returns `(select …)` with the columns, for use after `from`. Each row is an array of strings, integers and nulls.
 * @param alias name of the derived table.
 */
export function jsonRows(
  kind: DatabaseHandle['kind'],
  columns: readonly JsonColumn[],
  rows: readonly (readonly (string | number | null)[])[],
  alias: string,
): RawBuilder<unknown> {
  const json = JSON.stringify(rows);
  const source =
    kind === 'sqlite'
      ? // json_each returns each row as text, which SQLite parses again for every column (40 percent of a flush).
        sql`jsonb_each(${json}) as item`
      : sql`jsonb_array_elements(cast(${json} as jsonb)) as item(value)`;
  const list = columns.map(({ name, type }, position) => {
    const value = sql`item.value ->> ${sql.lit(position)}`;
    return type === 'text' ? sql`${value} as ${sql.ref(name)}` : sql`cast(${value} as bigint) as ${sql.ref(name)}`;
  });
  return sql`(select ${sql.join(list)} from ${source}) as ${sql.ref(alias)}`;
}

/**
 * Returns `(select …)` with the texts, for use after `in`. The text of the statement does not depend on the number of
 * texts.
 */
export function textList(kind: DatabaseHandle['kind'], texts: readonly string[]): RawBuilder<string> {
  const rows = texts.map((text) => [text]);
  return sql<string>`(select listed from ${jsonRows(kind, [{ name: 'listed', type: 'text' }], rows, 'list')})`;
}

/**
 * Inserts rows with the same columns in one statement. A column that is null in all rows gets its default.
 * @throws The driver's error, for example if a unique constraint is violated.
 */
export async function insertRows<Table extends keyof Tables>(
  db: Kysely<Tables>,
  kind: DatabaseHandle['kind'],
  table: Table,
  rows: readonly Partial<Record<keyof Selectable<Tables[Table]>, string | number | null>>[],
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const names = Object.keys(first) as (keyof Selectable<Tables[Table]> & string)[];
  const columns = names.flatMap((name): JsonColumn[] => {
    const value = rows.find((row) => row[name] !== null)?.[name] ?? null;
    return value === null ? [] : [{ name, type: typeof value === 'number' ? 'bigint' : 'text' }];
  });
  const values = rows.map((row) => columns.map(({ name }) => row[name as keyof typeof row] ?? null));
  const list = sql.join(columns.map(({ name }) => sql.ref(name)));
  const source = jsonRows(kind, columns, values, 'given');
  await sql`insert into ${sql.table(table)} (${list}) select ${list} from ${source}`.execute(db);
}
