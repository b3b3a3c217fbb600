/** Reads the table of months that `test/fixtures/month-table.py` generated with Python's zoneinfo. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** A month of an account. `start` and `end` are written with the zone's UTC offset at that time. */
export interface TableMonth {
  readonly zone: string;
  readonly billingDay: number;
  readonly start: string;
  readonly end: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** All months of the table, in chronological order within each zone and billing day. */
export const MONTH_TABLE: readonly TableMonth[] = (
  JSON.parse(readFileSync(resolve('test/fixtures/month-table.json'), 'utf8')) as [string, number, string[]][]
).flatMap(([zone, billingDay, begins]) =>
  begins.slice(1).map((end, index) => {
    const start = begins[index]!;
    return { zone, billingDay, start, end, startMs: Date.parse(start), endMs: Date.parse(end) };
  }),
);
