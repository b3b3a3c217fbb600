/** The table of months that Python's zoneinfo made: `test/fixtures/month-table.py` says how. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** A month of an account. Instants are written with the zone's offset at that instant. */
export interface TableMonth {
  readonly zone: string;
  readonly billingDay: number;
  readonly start: string;
  readonly end: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** Every month of the table, in the order of time within each zone and billing day. */
export const MONTH_TABLE: readonly TableMonth[] = (
  JSON.parse(readFileSync(resolve('test/fixtures/month-table.json'), 'utf8')) as [string, number, string[]][]
).flatMap(([zone, billingDay, begins]) =>
  begins.slice(1).map((end, index) => {
    const start = begins[index]!;
    return { zone, billingDay, start, end, startMs: Date.parse(start), endMs: Date.parse(end) };
  }),
);
