/**
 * Passes many rows to SQLite as one bound value. Rows have a fixed length and follow each other; a column with the same
 * value in all rows is passed once. A value is cut out by position, which is faster than JSON (decision 0029).
 */
import { sql, type RawBuilder } from 'kysely';
import { jsonRows, type JsonColumn } from './json-rows.js';

type Row = readonly (string | number)[];

/** Encoding of a column. `piece` is its bytes in a row. */
interface Field {
  readonly width: number;
  write(value: string | number): string;
  read(piece: RawBuilder<unknown>): RawBuilder<unknown>;
}

const ENCODER = new TextEncoder();

/** Like `jsonRows` for SQLite, but cheaper if all values are ASCII texts or integers. Otherwise it uses `jsonRows`. */
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
  // Generates the row numbers. The positions of a JSON array are the cheapest way to count in SQLite.
  const count = `[0${',0'.repeat(rows.length - 1)}]`;
  return sql`(
    select ${sql.join(list)} from (select key * ${whole(start - 1)} as place from json_each(${count})) as packed
  ) as ${sql.ref(alias)}`;
}

/** Returns undefined if a character takes more than one byte. */
function bytesOf(rows: readonly Row[], fields: readonly Field[]): Uint8Array | undefined {
  let text = '';
  for (const row of rows) {
    for (let at = 0; at < fields.length; at++) if (fields[at]!.width > 0) text += fields[at]!.write(row[at]!);
  }
  // Not from Node's buffer pool, which would be sent to the other thread as a whole.
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

/** Texts of equal length, or padded with spaces if none of them ends with a space. */
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

/** Integers, stored as the difference from the smallest one. */
function numberField(rows: readonly Row[], at: number): Field | undefined {
  let smallest = Infinity;
  let largest = -Infinity;
  for (const row of rows) {
    const value = row[at] as number;
    if (!Number.isSafeInteger(value)) return undefined;
    smallest = Math.min(smallest, value);
    largest = Math.max(largest, value);
  }
  if (!Number.isSafeInteger(largest - smallest)) return undefined;
  const width = String(largest - smallest).length;
  return {
    width,
    write: (value) => String(Number(value) - smallest).padStart(width, '0'),
    read: (piece) => sql`${whole(smallest)} + cast(${piece} as integer)`,
  };
}

/** Passes a number as a parameter, so that the text of the statement stays the same. */
function whole(value: number): RawBuilder<unknown> {
  return sql`cast(${value} as integer)`;
}
