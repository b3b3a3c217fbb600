/** Every metric declares its known label values, and counters with known values start at 0. */
import { describe, expect, it } from '@jest/globals';
import { textOf } from './metrics/exposition.js';
import { METRICS } from './metrics.js';
import { Metric, type Label, type MetricDescription, type ValueSeries } from './metrics/metric.js';

const counted = Object.values(METRICS).filter(({ kind }) => kind !== 'gauge');
const seriesOf = (text: string): [string, number][] =>
  text
    .split('\n')
    .filter((line) => !line.startsWith('#') && line !== '' && !/_(?:bucket|sum)(?:\{|\s)/.test(line))
    .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]);

/** Counters with label values that are not known in advance, and the label in question. */
const OPEN = {
  http_server_request_duration_seconds: ['http_request_method', 'http_response_status_code'],
  trailgate_deprecated_requests_total: ['account_id'],
};

describe('the catalog of metrics', () => {
  it('lists every counter with label values that are not known in advance', () => {
    const open = counted.flatMap(({ name, labelNames, labelValues }) => {
      const labels = labelNames.filter((_, index) => labelValues[index] === 'open');
      return labels.length === 0 ? [] : [[name, labels]];
    });
    expect(Object.fromEntries(open)).toEqual(OPEN);
  });

  it.each(counted.filter(({ name }) => !(name in OPEN)).map((metric) => [metric.name, metric] as const))(
    '%s starts at 0 once its label values are known',
    (_name, { description }) => {
      // Ignore counts from earlier tests in this process.
      const metric = new Metric(description as unknown as MetricDescription<ValueSeries, readonly Label[]>);
      const { labelNames, labelValues } = metric;
      const names = labelNames.filter((_, index) => labelValues[index] === 'config');
      const atStart = seriesOf(textOf(metric.read()));
      expect(atStart.length > 0).toBe(names.length === 0);
      metric.begin(Object.fromEntries(names.map((label) => [label, `any-${label}`])));
      const series = seriesOf(textOf(metric.read()));
      expect(series.length).toBeGreaterThan(0);
      expect(series.filter(([, value]) => value !== 0)).toEqual([]);
      for (const [index, values] of labelValues.entries()) {
        if (typeof values === 'string') continue;
        for (const value of values) expect(series.join('\n')).toContain(`${labelNames[index]}="${value}"`);
      }
    },
  );
});
