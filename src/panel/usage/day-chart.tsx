/**
 * Stacked column chart of the requests per day: successful, failed and blocked. The usage page shows the numbers in a
 * table below the chart.
 */
import { Box, useComputedColorScheme } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import { useElementSize } from '@mantine/hooks';
import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

/** Numbers of requests of one day, by result. */
export interface Day {
  /** Date, such as `2026-11-22`. */
  readonly day: string;
  readonly worked: number;
  readonly failed: number;
  readonly refused: number;
}

/** Height of the chart in pixels. */
const HEIGHT = 240;
/** Padding of the time axis in seconds, so that the first and last columns are fully visible. */
const HALF_DAY_SECONDS = 43_200;
const COLORS = { worked: '#2f9a93', failed: '#d63939', refused: '#e8a03a' } as const;

/** Colors of the columns, for the legend. */
export const DAY_COLORS = COLORS;

/** Returns noon UTC of a date, in seconds since the Unix epoch. */
const noonSeconds = (day: string): number => new Date(`${day}T12:00:00Z`).getTime() / 1_000;

export function DayChart({ days }: { readonly days: readonly Day[] }) {
  const { t, i18n } = useLingui();
  const scheme = useComputedColorScheme('light');
  const { ref: frame, width } = useElementSize();
  const container = useRef<HTMLDivElement>(null);
  const locales = i18n.locales ?? i18n.locale;
  useEffect(() => {
    if (container.current === null || width === 0 || days.length === 0) return;
    const chart = new UPlot(options(width, scheme, locales), columns(days), container.current);
    return () => chart.destroy();
  }, [days, width, scheme, locales]);
  return (
    <Box
      ref={frame}
      h={HEIGHT}
      role="img"
      aria-label={t`Requests per day, as columns. The table below has the numbers.`}
    >
      <div ref={container} />
    </Box>
  );
}

/**
 * Returns the data for uPlot, which does not stack columns. Each series therefore includes the heights of the series
 * below.
 */
function columns(days: readonly Day[]): UPlot.AlignedData {
  return [
    days.map(({ day }) => noonSeconds(day)),
    days.map(({ worked, failed, refused }) => worked + failed + refused),
    days.map(({ worked, failed }) => worked + failed),
    days.map(({ worked }) => worked),
  ];
}

function options(width: number, scheme: 'light' | 'dark', locales: string | string[]): UPlot.Options {
  const text = scheme === 'dark' ? '#a3b3ba' : '#53636a';
  const grid = { stroke: scheme === 'dark' ? '#334046' : '#e6ecec', width: 1 };
  const bars = UPlot.paths.bars?.({ size: [0.7, 28], radius: 0.15 });
  const day = new Intl.DateTimeFormat(locales, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  const count = new Intl.NumberFormat(locales, { notation: 'compact' });
  const series = (color: string): UPlot.Series => ({
    fill: color,
    stroke: color,
    width: 0,
    points: { show: false },
    ...(bars === undefined ? {} : { paths: bars }),
  });
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: true, range: (_chart, first, last) => [first - HALF_DAY_SECONDS, last + HALF_DAY_SECONDS] },
      y: { range: (_chart, _least, most) => [0, Math.max(most * 1.1, 5)] },
    },
    axes: [
      {
        stroke: text,
        grid: { show: false },
        ticks: grid,
        values: (_chart, splits) => splits.map((each) => day.format(each * 1_000)),
        space: 70,
      },
      {
        stroke: text,
        grid,
        ticks: { show: false },
        values: (_chart, splits) => splits.map((each) => count.format(each)),
        size: 56,
      },
    ],
    series: [{}, series(COLORS.refused), series(COLORS.failed), series(COLORS.worked)],
  };
}
