/** Days in the zone of an account, which need not be that of the reader: a day begins there, and not where they sit. */
import { now } from './clock.js';

const DAY_MS = 86_400_000;
const DAY_PARTS = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
const TIME_PARTS = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
/** The language that writes a day as the field for days does, and a time as every program reads it. */
const PLAIN = 'sv-SE';

/** The day on which a moment falls in a zone, as the field for days writes it: `2027-01-31`. */
export function dayOf(moment: Date, timeZone: string): string {
  return new Intl.DateTimeFormat(PLAIN, { ...DAY_PARTS, calendar: 'gregory', timeZone }).format(moment);
}

/** The day so many days from now. */
export const dayIn = (days: number, timeZone: string): string =>
  dayOf(new Date(now().getTime() + days * DAY_MS), timeZone);

/** The day before one. */
export const dayBefore = (day: string): string => dayOf(new Date(Date.parse(`${day}T12:00:00Z`) - DAY_MS), 'UTC');

/** The first second of a day in a zone, as the API takes it; undefined for what is no day. */
export const beginningOf = (day: string, timeZone: string): string | undefined => momentIn(`${day}T00:00:00`, timeZone);

/** The last second of a day in a zone, likewise. */
export const endOf = (day: string, timeZone: string): string | undefined => momentIn(`${day}T23:59:59`, timeZone);

function momentIn(there: string, timeZone: string): string | undefined {
  const asUtc = Date.parse(`${there}Z`);
  if (Number.isNaN(asUtc)) return undefined;
  // How far the clocks are ahead changes with the season: the second look is at the right one.
  const nearly = asUtc - aheadAt(asUtc, timeZone);
  return new Date(asUtc - aheadAt(nearly, timeZone)).toISOString();
}

/** How far the clocks of a zone are ahead of UTC, ms. */
function aheadAt(ms: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat(PLAIN, { ...DAY_PARTS, ...TIME_PARTS, calendar: 'gregory', timeZone });
  // By its parts: a text with a year of five digits can be read by no parser.
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const [year = 0, month = 1, day = 1] = [parts.get('year'), parts.get('month'), parts.get('day')];
  const there = Date.UTC(year, month - 1, day, parts.get('hour'), parts.get('minute'), parts.get('second'));
  return there - Math.floor(ms / 1_000) * 1_000;
}
