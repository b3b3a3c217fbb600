/** Tables for people: of rows, or of the fields of one thing. */
import { oneLine, type Fields } from './admin-client.js';

/** A value as it stands in a cell; nothing is a dash. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : oneLine(value.join(', '));
  return oneLine(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

function padded(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((text, column) => (widths[column] = Math.max(widths[column] ?? 0, text.length)));
  const lines = rows.map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  '));
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

/** One line a row under a heading; `columns` are names of fields, `target.id` reaches inside. */
export function rowsTable(columns: readonly string[], rows: readonly Fields[]): string {
  if (rows.length === 0) return 'none\n';
  const valueAt = (row: Fields, column: string): unknown =>
    column.split('.').reduce<unknown>((value, name) => (value as Fields | null | undefined)?.[name], row);
  const heading = columns.map((column) => column.toUpperCase().replaceAll('_', ' ').replaceAll('.', ' '));
  return padded([heading, ...rows.map((row) => columns.map((column) => cell(valueAt(row, column))))]);
}

/** One line a field. */
export function fieldsTable(fields: Fields): string {
  return padded(Object.entries(fields).map(([name, value]) => [name, cell(value)]));
}
