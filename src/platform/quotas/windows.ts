/**
 * Lists the windows in which requests are counted, such as a minute of a key. Limits and counts are arrays of numbers
 * in the order of `WINDOWS`. This file is in `platform` because metrics, the configuration and the counters all use it.
 * CONTRIBUTING.md lists what a new row requires.
 */

/** The periods of windows, shortest first. The texts complete "most requests …". */
const PERIODS = {
  minute: 'in any 60 seconds',
  day: "in a calendar day of the account's time zone",
  month: 'in a calendar month',
} as const;
export type WindowPeriod = keyof typeof PERIODS;
export const WINDOW_PERIODS = Object.keys(PERIODS) as readonly WindowPeriod[];

/**
 * WindowRow describes a window by its owner and its period. `kind` says whether it slides, or follows the account's
 * calendar.
 */
interface WindowRow {
  /** Name in response fields, refusals, metrics and the admin API. */
  readonly name: `${WindowRow['of']}-${WindowRow['period']}`;
  /** Whether the window counts the requests of one key, or of all keys of an account. */
  readonly of: 'key' | 'account';
  /** Name of the field that has the limit, in a plan and in a key's own limits. */
  readonly period: WindowPeriod;
  readonly kind: 'sliding' | 'calendar';
}

/**
 * WINDOWS has one row per window, in the order of the response fields. The index of a row is its bit in
 * `QuotaDecision.violated`.
 */
export const WINDOWS = [
  { name: 'key-minute', of: 'key', period: 'minute', kind: 'sliding' },
  { name: 'account-minute', of: 'account', period: 'minute', kind: 'sliding' },
  { name: 'account-month', of: 'account', period: 'month', kind: 'calendar' },
  { name: 'key-month', of: 'key', period: 'month', kind: 'calendar' },
  { name: 'account-day', of: 'account', period: 'day', kind: 'calendar' },
  { name: 'key-day', of: 'key', period: 'day', kind: 'calendar' },
] as const satisfies readonly WindowRow[];

export type QuotaWindow = (typeof WINDOWS)[number];
export type WindowName = QuotaWindow['name'];
export type MonthName = Extract<QuotaWindow, { readonly period: 'month' }>['name'];

/** PerWindow has one value for each window, in the order of `WINDOWS`. */
export type PerWindow<T, Rows = typeof WINDOWS> = { readonly [Index in keyof Rows]: T };

type IndexOf<Name extends WindowName, Rows = typeof WINDOWS> = {
  [Index in keyof Rows]: Rows[Index] extends { readonly name: Name }
    ? Index extends `${infer Number extends number}`
      ? Number
      : never
    : never;
}[keyof Rows & `${number}`];

/** Index of the key's minute window in `WINDOWS`. The next five constants are the indexes of the other windows. */
export const KEY_MINUTE = indexOf('key-minute');
export const ACCOUNT_MINUTE = indexOf('account-minute');
export const ACCOUNT_MONTH = indexOf('account-month');
export const KEY_MONTH = indexOf('key-month');
export const ACCOUNT_DAY = indexOf('account-day');
export const KEY_DAY = indexOf('key-day');

export const WINDOW_NAMES = WINDOWS.map(({ name }) => name);
export const MONTH_NAMES = WINDOWS.flatMap((window) => (window.period === 'month' ? [window.name] : []));

/** Windows that follow the calendar, as bits. The next two constants have the day windows and the month windows. */
export const CALENDAR_BITS = bitsWhere(({ kind }) => kind === 'calendar');
export const DAY_BITS = bitsWhere(({ period }) => period === 'day');
export const MONTH_BITS = bitsWhere(({ period }) => period === 'month');

/** Returns the windows for which a condition is true, as bits. */
export function bitsWhere(isIncluded: (window: QuotaWindow) => boolean): number {
  return WINDOWS.reduce((bits, window, index) => (isIncluded(window) ? bits | (1 << index) : bits), 0);
}

/** Returns one value for each window. */
export function perWindow<T>(valueOf: (window: QuotaWindow, index: number) => T): PerWindow<T> {
  return WINDOWS.map(valueOf) as unknown as PerWindow<T>;
}

/**
 * Returns one value for each period.
 * @param valueOf also receives the description of the period, such as `in any 60 seconds`
 */
export function perPeriod<T>(valueOf: (period: WindowPeriod, words: string) => T): Record<WindowPeriod, T> {
  const values = WINDOW_PERIODS.map((period) => [period, valueOf(period, PERIODS[period])]);
  return Object.fromEntries(values) as Record<WindowPeriod, T>;
}

function indexOf<Name extends WindowName>(name: Name): IndexOf<Name> {
  return WINDOWS.findIndex((window) => window.name === name) as IndexOf<Name>;
}
