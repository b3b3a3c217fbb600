/**
 * What a month will come to if it goes on as in the last days. A week, because on most APIs weekdays are not alike; the
 * part of today that has passed counts as that part.
 */
import { formatWithOffset } from '../platform/rfc3339.js';
import { ADJUSTED } from './model/usage-cell.js';
import type { DayPeriod, MonthPeriod } from './model/month-period.js';

const DAY_MS = 86_400_000;
/** Whole days before today that the pace is taken from. */
export const PACE_DAYS = 7;
/** A key that is an hour old has no pace yet: what it has used is that of a day. */
const SHORTEST_SPAN_DAYS = 1;

/** A month's limit, and what is used of it. */
export interface MonthWindow {
  readonly policy: string;
  readonly limit: number;
  readonly used: number;
}

/** UsageForecast says where a month's limit is heading. */
export interface UsageForecast {
  readonly policy: string;
  /** What a day costs, of the last ones. */
  readonly per_day: number;
  /** What will have been used when the month ends. */
  readonly expected: number;
  /** When the limit is reached; null: the month ends before. */
  readonly used_up_at: string | null;
}

/** What the requests of a day came to. */
export interface DayCost {
  readonly outcome?: string;
  readonly cost: number;
}

/** The time that a forecast is made at. */
export interface ForecastTime {
  readonly nowMs: number;
  readonly today: DayPeriod;
  readonly month: MonthPeriod;
  readonly timeZone: string;
  /** Since when there can have been requests, ms: whoever is new has fewer days. */
  readonly sinceMs: number;
}

/** @param days what was used since `PACE_DAYS` days before today. */
export function usageForecast(window: MonthWindow, days: readonly DayCost[], time: ForecastTime): UsageForecast {
  const { nowMs, today, month, timeZone, sinceMs } = time;
  // What an operator set is no request.
  const cost = days.reduce((sum, row) => sum + (row.outcome === ADJUSTED ? 0 : row.cost), 0);
  const fromMs = Math.max(today.startMs - PACE_DAYS * DAY_MS, sinceMs);
  const perDay = Math.max(0, cost) / Math.max(SHORTEST_SPAN_DAYS, (nowMs - fromMs) / DAY_MS);
  const left = Math.max(0, window.limit - window.used);
  const usedUpMs = perDay === 0 && left > 0 ? Infinity : nowMs + (left === 0 ? 0 : (left / perDay) * DAY_MS);
  return {
    policy: window.policy,
    per_day: Math.round(perDay * 100) / 100,
    expected: Math.round(window.used + (perDay * (month.endMs - nowMs)) / DAY_MS),
    used_up_at: usedUpMs < month.endMs ? formatWithOffset(usedUpMs, timeZone) : null,
  };
}
