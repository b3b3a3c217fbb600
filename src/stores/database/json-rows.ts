/**
 * Many rows as one bound value: a statement of fixed text takes any number of them, so that neither side compiles or
 * binds thousands of parameters. The same text for both databases but for the function that takes the array apart.
 */
import { sql, type RawBuilder } from 'kysely';
import type { DatabaseHandle } from './connect.js';

/** A column of such rows, by its position in each. */
export interface JsonColumn {
  readonly name: string;
  readonly type: 'text' | 'bigint';
}

/**
 * `(select …)` with the columns, to be put behind `from`. Each row is an array of texts, whole numbers and nulls.
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
      ? // Not json_each: that hands each row out as text, which every column would parse again (two fifths of a flush).
        sql`jsonb_each(${json}) as item`
      : sql`jsonb_array_elements(cast(${json} as jsonb)) as item(value)`;
  const list = columns.map(({ name, type }, position) => {
    const value = sql`item.value ->> ${sql.lit(position)}`;
    return type === 'text' ? sql`${value} as ${sql.ref(name)}` : sql`cast(${value} as bigint) as ${sql.ref(name)}`;
  });
  return sql`(select ${sql.join(list)} from ${source}) as ${sql.ref(alias)}`;
}

/** `(select …)` of texts, to be put behind `in`: a statement of one text, however many they are, stays compiled. */
export function textList(kind: DatabaseHandle['kind'], texts: readonly string[]): RawBuilder<string> {
  const rows = texts.map((text) => [text]);
  return sql<string>`(select listed from ${jsonRows(kind, [{ name: 'listed', type: 'text' }], rows, 'list')})`;
}
