/** Calculates with days of the request log, which are UTC dates as numbers: 20261122 is November 22, 2026. */

const DAY_MS = 86_400_000;

/** Returns the UTC day of a time in milliseconds since the epoch. */
export function dayOf(ms: number): number {
  return Number(new Date(ms).toISOString().slice(0, 10).replaceAll('-', ''));
}

/** Returns the start of the UTC day of a time. Both are in milliseconds since the epoch. */
export function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

/** Returns the day that is `days` days after the day of a time. */
export function dayAfter(ms: number, days: number): number {
  return dayOf(ms + days * DAY_MS);
}

/**
 * Returns the start of the earliest day in the request log, in milliseconds since the epoch. Only whole days are
 * deleted.
 */
export function keptSinceMs(nowMs: number, retentionDays: number): number {
  return startOfDay(nowMs - retentionDays * DAY_MS);
}
