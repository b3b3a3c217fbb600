/**
 * Many rows as one bound value, for SQLite: rows of one length behind each other, and columns that are the same
 * in all rows once. A column of a row is cut out from where it stands, where JSON is looked through for every
 * column of every row (decision 0029).
 */
import { sql, type RawBuilder } from 'kysely';
import { jsonRows, type JsonColumn } from './json-rows.js';

type Row = readonly (string | number)[];

/** How a column stands in the rows, and how it is read: `piece` are its bytes. */
interface Field {
  readonly width: number;
  write(value: string | number): string;
  read(piece: RawBuilder<unknown>): RawBuilder<unknown>;
}

const ENCODER = new TextEncoder();

/** As `jsonRows` for SQLite, and cheaper where the rows can be packed: ASCII texts and whole numbers. */
export function packedRows(columns: readonly JsonColumn[], rows: readonly Row[], alias: string): RawBuilder<unknown> {
  return tryPacked(columns, rows, alias) ?? jsonRows('sqlite', columns, rows, alias);
}

function tryPacked(
  columns: readonly JsonColumn[],
  rows: readonly Row[],
  alias: string,
): RawBuilder<unknown> | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  const fields = columns.map(({ type }, at) => {
    if (rows.every((row) => row[at] === first[at])) return constant(type, first[at]!);
    return type === 'text' ? textField(rows, at) : numberField(rows, at);
  });
  if (!fields.every((field) => field !== undefined)) return undefined;
  const bytes = bytesOf(rows, fields);
  if (bytes === undefined) return undefined;
  let start = 1;
  const list = columns.map(({ name }, at) => {
    const field = fields[at]!;
    const value = field.read(sql`substr(${bytes}, place + ${whole(start)}, ${whole(field.width)})`);
    start += field.width;
    return sql`${value} as ${sql.ref(name)}`;
  });
  // Of all that SQLite can count with, the positions in an array of JSON are the cheapest.
  const count = `[0${',0'.repeat(rows.length - 1)}]`;
  return sql`(
    select ${sql.join(list)} from (select key * ${whole(start - 1)} as place from json_each(${count})) as packed
  ) as ${sql.ref(alias)}`;
}

/** Undefined where a character takes more than a byte. */
function bytesOf(rows: readonly Row[], fields: readonly Field[]): Uint8Array | undefined {
  let text = '';
  for (const row of rows) {
    for (let at = 0; at < fields.length; at++) if (fields[at]!.width > 0) text += fields[at]!.write(row[at]!);
  }
  // Of its own: a buffer from Node's pool would go to the other thread with the rest of the pool.
  const bytes = ENCODER.encode(text);
  return bytes.length === text.length ? bytes : undefined;
}

function constant(type: JsonColumn['type'], value: string | number): Field {
  return {
    width: 0,
    write: () => '',
    read: () => (type === 'text' ? sql`cast(${value} as text)` : whole(Number(value))),
  };
}

/** Texts of one length, or filled up with spaces where none of them ends with one. */
function textField(rows: readonly Row[], at: number): Field | undefined {
  let shortest = Infinity;
  let width = 0;
  for (const row of rows) {
    const { length } = row[at] as string;
    shortest = Math.min(shortest, length);
    width = Math.max(width, length);
  }
  const isFilled = shortest < width;
  if (isFilled && rows.some((row) => (row[at] as string).endsWith(' '))) return undefined;
  return {
    width,
    write: (value) => (isFilled ? String(value).padEnd(width) : String(value)),
    read: (piece) => (isFilled ? sql`rtrim(cast(${piece} as text), ' ')` : sql`cast(${piece} as text)`),
  };
}

/** Whole numbers, as what they are more than the least of them. */
function numberField(rows: readonly Row[], at: number): Field | undefined {
  let least = Infinity;
  let most = -Infinity;
  for (const row of rows) {
    const value = row[at] as number;
    if (!Number.isSafeInteger(value)) return undefined;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  if (!Number.isSafeInteger(most - least)) return undefined;
  const width = String(most - least).length;
  return {
    width,
    write: (value) => String(Number(value) - least).padStart(width, '0'),
    read: (piece) => sql`${whole(least)} + cast(${piece} as integer)`,
  };
}

/** A number as a parameter: the text of a statement stays the same whatever the rows are like. */
function whole(value: number): RawBuilder<unknown> {
  return sql`cast(${value} as integer)`;
}
