/** Formats text tables of rows, or of the fields of one object. */
import { oneLine, type Fields } from './admin-client.js';

/** Formats a cell. Null, undefined and empty arrays become a dash. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : oneLine(value.join(', '));
  return oneLine(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

const GAP = '  ';
/** Minimum width of a shortened column, in characters. */
const NARROWEST = 8;

function formatLines(rows: readonly (readonly string[])[], fit?: (widths: number[]) => void): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((text, column) => (widths[column] = Math.max(widths[column] ?? 0, text.length)));
  fit?.(widths);
  const lines = rows.map((row) =>
    row.map((text, column) => shortenMiddle(text, widths[column] ?? 0).padEnd(widths[column] ?? 0)).join(GAP),
  );
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

/**
 * Narrows the widest candidate, one character at a time, until a line fits or all candidates have the minimum width.
 * @param mostColumns maximum length of a line, in characters
 * @param candidates indexes of the columns that may be narrowed
 */
function narrow(widths: number[], mostColumns: number, candidates: readonly number[]): void {
  const total = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  for (let excess = total - mostColumns; excess > 0; excess--) {
    const [widest = -1] = candidates.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
    const width = widths[widest] ?? 0;
    if (width <= NARROWEST) return;
    widths[widest] = width - 1;
  }
}

/** Shortens a text in the middle, because names and addresses often differ at their ends. */
function shortenMiddle(text: string, width: number): string {
  if (text.length <= width) return text;
  const end = Math.floor((width - 1) / 2);
  return `${text.slice(0, width - 1 - end)}…${text.slice(text.length - end)}`;
}

/**
 * Formats rows under a heading. `columns` are field names or paths such as `target.id`.
 * @param shorten shortens lines to `mostColumns` characters if possible. Columns of the first group in
 * `shortenedColumns` are shortened first.
 */
export function rowsTable(
  columns: readonly string[],
  rows: readonly Fields[],
  shorten?: { readonly mostColumns: number; readonly shortenedColumns: readonly (readonly string[])[] },
): string {
  if (rows.length === 0) return 'none\n';
  const valueAt = (row: Fields, column: string): unknown =>
    column.split('.').reduce<unknown>((value, name) => (value as Fields | null | undefined)?.[name], row);
  const heading = columns.map((column) => column.toUpperCase().replaceAll('_', ' ').replaceAll('.', ' '));
  const lines = [heading, ...rows.map((row) => columns.map((column) => cell(valueAt(row, column))))];
  if (shorten === undefined) return formatLines(lines);
  return formatLines(lines, (widths) => {
    for (const group of shorten.shortenedColumns) {
      const candidates = columns.flatMap((column, index) => (group.includes(column) ? [index] : []));
      narrow(widths, shorten.mostColumns, candidates);
    }
  });
}

/** Formats one line per field. */
export function fieldsTable(fields: Fields): string {
  return formatLines(Object.entries(fields).map(([name, value]) => [name, cell(value)]));
}
