/**
 * Forecasts a month's usage from the average of the last seven days and today, for the admin API. The average covers a
 * whole week, because most APIs have different traffic on different weekdays. Today counts as the fraction of the day
 * that has passed.
 */
import { formatWithOffset } from '../platform/rfc3339.js';
import { ADJUSTED } from './model/usage-cell.js';
import type { DayPeriod, MonthPeriod } from './model/month-period.js';

const DAY_MS = 86_400_000;
/** Number of whole days before today that the average includes. */
export const PACE_DAYS = 7;
/**
 * Minimum length of the averaged span, in days. Usage of an account that is younger than a day counts as the usage of
 * one day.
 */
const SHORTEST_SPAN_DAYS = 1;

/** MonthWindow is a month limit and its usage. */
export interface MonthWindow {
  readonly policy: string;
  readonly limit: number;
  readonly used: number;
}

/** UsageForecast predicts the usage of a month limit. */
export interface UsageForecast {
  readonly policy: string;
  /** Average cost per day since `PACE_DAYS` days before today, or since the account was created. */
  readonly per_day: number;
  /** Expected usage at the end of the month. */
  readonly expected: number;
  /** When the limit will be reached (RFC 3339). Null if the month ends before that. */
  readonly used_up_at: string | null;
}

/** DayCost is the cost of a day's requests with one outcome. */
export interface DayCost {
  readonly outcome?: string;
  readonly cost: number;
}

/** ForecastTime holds the time of the forecast and its calendar. */
export interface ForecastTime {
  readonly nowMs: number;
  readonly today: DayPeriod;
  readonly month: MonthPeriod;
  readonly timeZone: string;
  /** When the account was created, in ms. No request can be earlier. */
  readonly sinceMs: number;
}

/**
 * Forecasts the usage of a month limit. Adjustments are not part of the average.
 * @param days usage since `PACE_DAYS` days before today.
 */
export function usageForecast(window: MonthWindow, days: readonly DayCost[], time: ForecastTime): UsageForecast {
  const { nowMs, today, month, timeZone, sinceMs } = time;
  // Adjustments are not requests.
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
