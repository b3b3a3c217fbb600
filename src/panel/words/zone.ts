/** Dates in an account's time zone, which can differ from the reader's zone. */
import { now } from './clock.js';

const DAY_MS = 86_400_000;
const DAY_PARTS = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
const TIME_PARTS = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
/** Swedish formats dates as date inputs do, and times in ISO order. */
const PLAIN = 'sv-SE';

/** Returns the date of a moment in a zone, in the format of a date input: `2027-01-31`. */
export function dayOf(moment: Date, timeZone: string): string {
  return new Intl.DateTimeFormat(PLAIN, { ...DAY_PARTS, calendar: 'gregory', timeZone }).format(moment);
}

/** Returns the date a number of days from now. */
export const dayIn = (days: number, timeZone: string): string =>
  dayOf(new Date(now().getTime() + days * DAY_MS), timeZone);

/** Returns the previous date. */
export const dayBefore = (day: string): string => dayOf(new Date(Date.parse(`${day}T12:00:00Z`) - DAY_MS), 'UTC');

/** Returns the first second of a date in a zone; undefined for an invalid date. */
export const beginningOf = (day: string, timeZone: string): string | undefined => momentIn(`${day}T00:00:00`, timeZone);

/** Returns the last second of a date in a zone; undefined for an invalid date. */
export const endOf = (day: string, timeZone: string): string | undefined => momentIn(`${day}T23:59:59`, timeZone);

function momentIn(there: string, timeZone: string): string | undefined {
  const asUtc = Date.parse(`${there}Z`);
  if (Number.isNaN(asUtc)) return undefined;
  // The offset depends on daylight saving time: the second lookup uses the right moment.
  const nearly = asUtc - aheadAt(asUtc, timeZone);
  return new Date(asUtc - aheadAt(nearly, timeZone)).toISOString();
}

/** Returns the offset of a zone from UTC, in milliseconds. */
function aheadAt(ms: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat(PLAIN, { ...DAY_PARTS, ...TIME_PARTS, calendar: 'gregory', timeZone });
  // Built from parts, because no parser reads years of five digits.
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const [year = 0, month = 1, day = 1] = [parts.get('year'), parts.get('month'), parts.get('day')];
  const there = Date.UTC(year, month - 1, day, parts.get('hour'), parts.get('minute'), parts.get('second'));
  return there - Math.floor(ms / 1_000) * 1_000;
}
