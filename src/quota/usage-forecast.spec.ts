/** The forecast of a month follows from the usage of the last days, and says when the limit will be reached. */
import { expect, it } from '@jest/globals';
import { calendarOf } from './model/month-period.js';
import { usageForecast, type DayCost, type ForecastTime } from './usage-forecast.js';

const CALENDAR = calendarOf('Europe/Vienna', 1);
const WINDOW = { policy: 'account-month', limit: 10_000, used: 6_000, remaining: 4_000, resets_at: '' };

function at(instant: string, since = '2026-01-01T00:00:00Z'): ForecastTime {
  const nowMs = Date.parse(instant);
  return {
    nowMs,
    today: CALENDAR.dayAt(nowMs),
    month: CALENDAR.at(nowMs),
    timeZone: 'Europe/Vienna',
    sinceMs: Date.parse(since),
  };
}

const days = (...costs: readonly number[]): DayCost[] => costs.map((cost) => ({ outcome: 'success', cost }));

it('says when the month will be used up, at the pace of the last seven days and of today', () => {
  // Noon: seven whole days and a half.
  const forecast = usageForecast(WINDOW, days(500, 500, 500, 500, 500, 500, 500, 250), at('2026-11-20T11:00:00Z'));
  expect(forecast).toEqual({
    policy: 'account-month',
    per_day: 500,
    expected: 11_250,
    used_up_at: '2026-11-28T12:00:00+01:00',
  });
});

it('gives no end if the month ends first', () => {
  expect(usageForecast(WINDOW, days(100, 100), at('2026-11-20T11:00:00Z'))).toMatchObject({ used_up_at: null });
  expect(usageForecast(WINDOW, [], at('2026-11-20T11:00:00Z'))).toMatchObject({
    per_day: 0,
    expected: 6_000,
    used_up_at: null,
  });
});

it('divides the usage of a new account by its actual days, at least one', () => {
  const twoDays = at('2026-11-20T11:00:00Z', '2026-11-18T11:00:00Z');
  expect(usageForecast(WINDOW, days(400, 400, 200), twoDays)).toMatchObject({ per_day: 500 });
  const anHour = at('2026-11-20T11:00:00Z', '2026-11-20T10:00:00Z');
  expect(usageForecast(WINDOW, days(300), anHour)).toMatchObject({ per_day: 300 });
});

it('ignores adjustments in the daily rate', () => {
  const rows = [...days(700), { outcome: 'adjusted', cost: 5_000 }, { outcome: 'adjusted', cost: -9_000 }];
  expect(usageForecast(WINDOW, rows, at('2026-11-20T23:00:00Z'))).toMatchObject({ per_day: 100 });
});

it('reports the current time if nothing is left', () => {
  const full = { ...WINDOW, used: 10_500, remaining: 0 };
  expect(usageForecast(full, [], at('2026-11-20T11:00:00Z'))).toMatchObject({
    expected: 10_500,
    used_up_at: '2026-11-20T12:00:00+01:00',
  });
});
