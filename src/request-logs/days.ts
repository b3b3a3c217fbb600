/** Days of the log: in UTC, as numbers, 20261122. */

const DAY_MS = 86_400_000;

/** The day of an instant. */
export function dayOf(ms: number): number {
  return Number(new Date(ms).toISOString().slice(0, 10).replaceAll('-', ''));
}

/** The first instant of the day of an instant. */
export function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

/** The day that is so many days after that of an instant. */
export function dayAfter(ms: number, days: number): number {
  return dayOf(ms + days * DAY_MS);
}

/** The first instant that is kept: whole days, so that none is half forgotten. */
export function keptSinceMs(nowMs: number, retentionDays: number): number {
  return startOfDay(nowMs - retentionDays * DAY_MS);
}
