/** Usage as CSV (RFC 4180) for spreadsheets. Spreadsheets never read a cell as a formula. */
import type { UsageGroup } from './usage-query.js';
import type { UsageRow } from './usage-rows.js';

export const CSV_CONTENT_TYPE = 'text/csv; charset=utf-8; header=present';

/** Returns the columns for these groups. */
export function csvColumns(groups: readonly UsageGroup[]): (keyof UsageRow)[] {
  return [...groups.map((group) => (group === 'api_key' ? 'api_key_id' : group)), 'requests', 'cost'];
}

/** Returns one line with its line break. Null and undefined become empty cells. */
export function csvLine(cells: readonly (string | number | null | undefined)[]): string {
  return `${cells.map(cell).join(',')}\r\n`;
}

/** Yields the text in pieces: the heading, then one piece per page of rows. */
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
  // Spreadsheets evaluate cells that begin like this (OWASP, CSV injection). A leading quotation mark makes them text.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
