import { describe, expect, it } from '@jest/globals';
import { textOf } from '../../platform/metrics/exposition.js';
import { HistogramSeries, LARGEST_METRIC } from '../../platform/metrics/metric.js';
import type { Exemplar, Family, Kind } from '../../platform/metrics/family.js';
import { lastingMetrics, mergeMetrics } from './merge-metrics.js';

const family = (kind: Kind, name: string, values: Readonly<Record<string, number>>): Family => ({
  name,
  kind,
  help: `Help of ${name}.`,
  series: Object.entries(values).map(([labels, value]) => ({ labels, value: Number.isNaN(value) ? null : value })),
});

/** Metrics of a process. @param durations observed, in seconds */
const processWith = (requests: number, up: number, entries: number, durations: readonly number[]): Family[] => {
  const series = new HistogramSeries('', [1]);
  for (const duration of durations) series.observe(duration);
  return [
    family('counter', 'requests_total', { 'code="200"': requests }),
    family('gauge', 'store_up', { '': up }),
    family('gauge', 'cache_entries', { '': entries }),
    family('gauge', 'trailgate_build_info', { 'version="a b"': 1 }),
    { name: 'duration_seconds', kind: 'histogram', help: 'Time.', series: [series.read()] },
  ];
};

/** Lines of the merged metrics without their heads. */
const merged = async (...processes: Family[][]): Promise<string[]> =>
  (await mergeMetrics(processes))
    .flatMap((one) => textOf(one).split('\n'))
    .filter((line) => line !== '' && !line.startsWith('#'));

const histogramOf = (families: readonly Family[]) =>
  families.find(({ kind }) => kind === 'histogram')?.series[0]?.histogram;

describe('the metrics of several processes', () => {
  it('add counters, histograms and sizes, take the worst `up`, and keep constant values', async () => {
    expect(await merged(processWith(3, 1, 10, [0.5, 0.25, 2]), processWith(4, 0, 20, [4]))).toEqual([
      'requests_total{code="200"} 7',
      'store_up 0',
      'cache_entries 30',
      'trailgate_build_info{version="a b"} 1',
      'duration_seconds_bucket{le="1"} 2',
      'duration_seconds_bucket{le="+Inf"} 4',
      'duration_seconds_sum 6.75',
      'duration_seconds_count 4',
    ]);
  });

  it('add native histograms, wherever their buckets begin', async () => {
    const native = histogramOf(
      await mergeMetrics([processWith(0, 1, 0, [1, 0, 1]), processWith(0, 1, 0, [1, 1_024])]),
    )?.native;
    const counts = native?.counts.flatMap((count, at) => (count === 0 ? [] : [[native.first + at, count]]));
    expect([native?.zero, counts]).toEqual([
      1,
      [
        [0, 3],
        [80, 1],
      ],
    ]);
  });

  it('keep the latest exemplar of each bucket', async () => {
    const withExemplars = (...exemplars: (Exemplar | null)[]): Family[] => [
      {
        name: 'duration_seconds',
        kind: 'histogram',
        help: 'Time.',
        series: [{ labels: '', value: 0, histogram: { bounds: [1], counts: [1, 1], sum: 3, exemplars } }],
      },
    ];
    const exemplar = (traceId: string, timeMs: number): Exemplar => ({ traceId, timeMs, value: 0.5 });
    const [a, b, c] = [exemplar('a', 1), exemplar('b', 2), exemplar('c', 3)];
    const both = await mergeMetrics([withExemplars(b, null), withExemplars(a, c)]);
    expect(histogramOf(both)?.exemplars).toEqual([b, c]);
  });

  it('keep the counters of an ended process, and drop its gauges', async () => {
    expect(await merged(processWith(3, 1, 10, [2]), lastingMetrics(processWith(4, 0, 20, [2])))).toEqual(
      expect.arrayContaining([
        'requests_total{code="200"} 7',
        'cache_entries 10',
        'store_up 1',
        'duration_seconds_count 2',
      ]),
    );
  });

  it('take the worst value of any process for gauges that must not be added', async () => {
    const see = (healthy: number, started: number, expiry: number, mean: number): Family[] => [
      family('gauge', 'trailgate_upstream_targets', {
        'service="a",target="state=\\"healthy\\"",state="healthy"': healthy,
        'service="a",target="state=\\"healthy\\"",state="ejected"': 3 - healthy,
      }),
      family('gauge', 'process_start_time_seconds', { '': started }),
      family('gauge', 'trailgate_certificate_expiry_timestamp_seconds', { '': expiry }),
      family('gauge', 'nodejs_eventloop_lag_mean_seconds', { '': mean }),
    ];
    expect(await merged(see(3, 100, 900, NaN), see(1, 200, 800, 0.5), see(2, 150, 850, NaN))).toEqual([
      'trailgate_upstream_targets{service="a",target="state=\\"healthy\\"",state="healthy"} 1',
      'trailgate_upstream_targets{service="a",target="state=\\"healthy\\"",state="ejected"} 2',
      'process_start_time_seconds 200',
      'trailgate_certificate_expiry_timestamp_seconds 800',
      'nodejs_eventloop_lag_mean_seconds 0.5',
    ]);
  });

  it('report the earliest loss of the quota store and the greatest key staleness', async () => {
    const see = (lost: number, stale: number): Family[] => [
      family('gauge', 'trailgate_quota_store_lost_timestamp_seconds', { '': lost }),
      family('gauge', 'trailgate_key_staleness_seconds', { '': stale }),
    ];
    expect(await merged(see(0, 0.5), see(1_800_000_020, 10), see(1_800_000_010, 2))).toEqual([
      'trailgate_quota_store_lost_timestamp_seconds 1800000010',
      'trailgate_key_staleness_seconds 10',
    ]);
    expect((await merged(see(0, 0), see(0, 0)))[0]).toBe('trailgate_quota_store_lost_timestamp_seconds 0');
  });

  it('keep no exemplars of ended processes, and no more series than one process can have', () => {
    const many = Array.from({ length: LARGEST_METRIC + 5 }, (_, at) => ({ labels: `n="${at}"`, value: 1 }));
    const histogram = { bounds: [], counts: [1], sum: 1, exemplars: [{ traceId: 'a', value: 1, timeMs: 1 }] };
    const lasting = lastingMetrics([
      { name: 'many_total', kind: 'counter', help: 'Many.', series: many },
      { name: 'duration_seconds', kind: 'histogram', help: 'Time.', series: [{ labels: '', value: 0, histogram }] },
    ]);
    expect(lasting[0]?.series).toHaveLength(LARGEST_METRIC);
    expect(histogramOf(lasting)).not.toHaveProperty('exemplars');
  });

  it('are empty if there are none', async () => {
    expect(await mergeMetrics([[], []])).toEqual([]);
  });
});
