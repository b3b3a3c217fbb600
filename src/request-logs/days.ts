/** Days of the log: UTC dates as numbers, for example 20261122. */

const DAY_MS = 86_400_000;

/** Returns the day of a time. */
export function dayOf(ms: number): number {
  return Number(new Date(ms).toISOString().slice(0, 10).replaceAll('-', ''));
}

export function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

/** Returns the day that is a number of days after the day of a time. */
export function dayAfter(ms: number, days: number): number {
  return dayOf(ms + days * DAY_MS);
}

/** Returns the start of retention. Only whole days are deleted. */
export function keptSinceMs(nowMs: number, retentionDays: number): number {
  return startOfDay(nowMs - retentionDays * DAY_MS);
}
