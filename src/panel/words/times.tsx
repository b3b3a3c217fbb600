/** Formats times and numbers for the language of the page and, if given, for a time zone. */
import { Text, Tooltip } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import { now } from './clock.js';

/** Units of relative times. Each number says how many of the unit make the next larger unit. */
const STEPS = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 30],
  ['month', 12],
] as const;

export interface Formats {
  /** Date and time, such as `22 Nov 2026, 10:04`. */
  time(iso: string): string;
  /** Date, such as `22 Nov 2026`. */
  date(iso: string): string;
  /** Relative time, such as `3 minutes ago` or `in 2 days`. */
  relative(iso: string): string;
  number(value: number): string;
}

/** Returns formatters for the language of the page. @param timeZone time zone; undefined: the browser's. */
export function useFormats(timeZone?: string): Formats {
  const { i18n } = useLingui();
  const locales = i18n.locales ?? i18n.locale;
  const options = timeZone === undefined ? {} : { timeZone };
  return {
    time: (iso) =>
      new Intl.DateTimeFormat(locales, { dateStyle: 'medium', timeStyle: 'short', ...options }).format(new Date(iso)),
    date: (iso) => new Intl.DateTimeFormat(locales, { dateStyle: 'medium', ...options }).format(new Date(iso)),
    number: (value) => new Intl.NumberFormat(locales).format(value),
    relative(iso) {
      let left = (new Date(iso).getTime() - now().getTime()) / 1_000;
      const format = new Intl.RelativeTimeFormat(locales, { numeric: 'auto' });
      for (const [unit, size] of STEPS) {
        if (Math.abs(left) < size) return format.format(Math.round(left), unit);
        left /= size;
      }
      return format.format(Math.round(left), 'year');
    },
  };
}

/** Ago shows a relative time, with the exact time as a tooltip. */
export function Ago({ at, timeZone }: { readonly at: string; readonly timeZone?: string | undefined }) {
  const formats = useFormats(timeZone);
  return (
    <Tooltip label={formats.time(at)}>
      <Text component="time" inherit dateTime={at} style={{ whiteSpace: 'nowrap' }}>
        {formats.relative(at)}
      </Text>
    </Tooltip>
  );
}
