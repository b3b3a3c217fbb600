/** What a metric holds stays bounded, and what no longer fits is told apart from what does. */
import { describe, expect, it } from '@jest/globals';
import { LARGEST_METRIC, Metric, ValueSeries } from './metrics.js';

describe('a metric', () => {
  const metric = (): Metric<ValueSeries> =>
    new Metric('tests_total', 'counter', 'For a test.', ['plan', 'outcome'], (labels) => new ValueSeries(labels));
  const full = (): Metric<ValueSeries> => {
    const filled = metric();
    for (let plan = 0; plan < LARGEST_METRIC; plan++) filled.series(`plan-${plan}`, 'admitted').inc();
    return filled;
  };
  const lines = (of: Metric<ValueSeries>): string[] =>
    of
      .text()
      .split('\n')
      .filter((line) => !line.startsWith('#'));

  it('has one series for the same label values', () => {
    const one = metric();
    one.series('a', 'admitted').inc();
    one.series('a', 'admitted').inc(2);
    expect(lines(one)).toEqual(['tests_total{plan="a",outcome="admitted"} 3']);
  });

  it('counts what is too much as other, and leaves every series as it was', () => {
    const filled = full();
    filled.series('late', 'admitted').inc(7);
    filled.series('later', 'refused').inc(2);
    filled.series(`plan-${LARGEST_METRIC - 1}`, 'admitted').inc();
    expect(lines(filled)).toHaveLength(LARGEST_METRIC + 1);
    expect(lines(filled).at(-2)).toBe(`tests_total{plan="plan-${LARGEST_METRIC - 1}",outcome="admitted"} 2`);
    expect(lines(filled).at(-1)).toBe('tests_total{plan="other",outcome="other"} 9');
  });

  it('has no other while everything fits', () => {
    expect(lines(full())).toHaveLength(LARGEST_METRIC);
    expect(full().text()).not.toContain('other');
  });
});
