/**
 * Formats usage as CSV (RFC 4180) for spreadsheets. Cells are escaped so that a spreadsheet never evaluates them as
 * formulas.
 */
import type { UsageGroup } from './usage-query.js';
import type { UsageRow } from './usage-rows.js';

export const CSV_CONTENT_TYPE = 'text/csv; charset=utf-8; header=present';

/** Returns the columns of the CSV for these groups. */
export function csvColumns(groups: readonly UsageGroup[]): (keyof UsageRow)[] {
  return [...groups.map((group) => (group === 'api_key' ? 'api_key_id' : group)), 'requests', 'cost'];
}

/** Returns one line, with its line break. Null and undefined become empty cells. */
export function csvLine(cells: readonly (string | number | null | undefined)[]): string {
  return `${cells.map(cell).join(',')}\r\n`;
}

/** Yields the CSV in pieces, one piece per page of rows. The first piece begins with the header line. */
export async function* csvText(
  groups: readonly UsageGroup[],
  pages: AsyncIterable<readonly UsageRow[]>,
): AsyncGenerator<string> {
  const columns = csvColumns(groups);
  let heading = csvLine(columns);
  for await (const rows of pages) {
    yield heading + rows.map((row) => csvLine(columns.map((column) => row[column]))).join('');
    heading = '';
  }
}

function cell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  // Spreadsheets evaluate cells that begin with these characters (OWASP, CSV injection). A leading apostrophe makes
  // them text.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
