/**
 * Converts between moments and dates in the time zone of an account, which can differ from the time zone of the
 * browser.
 */
import { now } from './clock.js';

const DAY_MS = 86_400_000;
const DAY_PARTS = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
const TIME_PARTS = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
/** Locale for dates. Swedish formats dates as date inputs need them, such as `2027-01-31`. */
const LOCALE = 'sv-SE';

/** Returns the date of a moment in a time zone, such as `2027-01-31`. */
export function dayOf(moment: Date, timeZone: string): string {
  return new Intl.DateTimeFormat(LOCALE, { ...DAY_PARTS, calendar: 'gregory', timeZone }).format(moment);
}

/** Returns the date in a time zone after a number of days from now, such as `2027-01-31`. A day is 24 hours. */
export const dayIn = (days: number, timeZone: string): string =>
  dayOf(new Date(now().getTime() + days * DAY_MS), timeZone);

/** Returns the date before the given date, such as `2027-01-30` for `2027-01-31`. */
export const dayBefore = (day: string): string => dayOf(new Date(Date.parse(`${day}T12:00:00Z`) - DAY_MS), 'UTC');

/** Returns the first second of a date in a time zone (ISO 8601 in UTC). Undefined for an invalid date. */
export const beginningOf = (day: string, timeZone: string): string | undefined => momentIn(`${day}T00:00:00`, timeZone);

/** Returns the last second of a date in a time zone (ISO 8601 in UTC). Undefined for an invalid date. */
export const endOf = (day: string, timeZone: string): string | undefined => momentIn(`${day}T23:59:59`, timeZone);

/** Returns the moment (ISO 8601 in UTC) of a local time in a time zone. Undefined for an invalid time. */
function momentIn(localTime: string, timeZone: string): string | undefined {
  const asUtc = Date.parse(`${localTime}Z`);
  if (Number.isNaN(asUtc)) return undefined;
  // The offset depends on the moment, because of daylight saving time. The second lookup therefore uses an almost exact
  // moment.
  const nearly = asUtc - offsetMsAt(asUtc, timeZone);
  return new Date(asUtc - offsetMsAt(nearly, timeZone)).toISOString();
}

/** Returns how far a time zone is ahead of UTC at a moment, in milliseconds. */
function offsetMsAt(ms: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat(LOCALE, { ...DAY_PARTS, ...TIME_PARTS, calendar: 'gregory', timeZone });
  // Compute the time from parts, because no parser reads years with five digits.
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const [year = 0, month = 1, day = 1] = [parts.get('year'), parts.get('month'), parts.get('day')];
  const localMs = Date.UTC(year, month - 1, day, parts.get('hour'), parts.get('minute'), parts.get('second'));
  return localMs - Math.floor(ms / 1_000) * 1_000;
}
