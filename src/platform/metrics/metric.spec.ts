/** Metrics are limited in size, count the overflow separately, and start at 0 where label values are known. */
import { describe, expect, it } from '@jest/globals';
import { textOf } from './exposition.js';
import type { Family } from './family.js';
import { LARGEST_METRIC, LineBudget, Metric, ValueSeries, type Label } from './metric.js';

const create = (labels: string): ValueSeries => new ValueSeries(labels);
const counterOf = <const Labels extends readonly Label[]>(...labels: Labels): Metric<ValueSeries, Labels> =>
  new Metric({ name: 'tests_total', kind: 'counter', help: 'For a test.', labels, create });
const lines = (of: { read(): Family }): string[] =>
  textOf(of.read())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

describe('a metric', () => {
  const metric = () => counterOf(['plan', 'open'], ['outcome', ['admitted', 'refused']]);
  const full = () => {
    const filled = metric();
    for (let plan = 0; plan < LARGEST_METRIC; plan++) filled.series(`plan-${plan}`, 'admitted').inc();
    return filled;
  };

  it('has one series for the same label values', () => {
    const one = metric();
    one.series('a', 'admitted').inc();
    one.series('a', 'admitted').inc(2);
    expect(lines(one)).toEqual(['tests_total{plan="a",outcome="admitted"} 3']);
  });

  it('counts the overflow as `other`, and keeps existing series', () => {
    const filled = full();
    filled.series('late', 'admitted').inc(7);
    filled.series('later', 'refused').inc(2);
    filled.series(`plan-${LARGEST_METRIC - 1}`, 'admitted').inc();
    expect(lines(filled)).toHaveLength(LARGEST_METRIC + 1);
    expect(lines(filled).at(-2)).toBe(`tests_total{plan="plan-${LARGEST_METRIC - 1}",outcome="admitted"} 2`);
    expect(lines(filled).at(-1)).toBe('tests_total{plan="other",outcome="other"} 9');
  });

  it('has no `other` series below the limit', () => {
    expect(lines(full())).toHaveLength(LARGEST_METRIC);
    expect(lines(full()).join()).not.toContain('other');
  });
});

describe('a counter with known label values', () => {
  it('starts at 0, so that the first event is an increase', () => {
    expect(lines(counterOf())).toEqual(['tests_total 0']);
    const results = counterOf(['kind', ['a', 'b']], ['percent', [80, 100]]);
    expect(lines(results)).toEqual(
      ['a",percent="80', 'a",percent="100', 'b",percent="80', 'b",percent="100'].map(
        (v) => `tests_total{kind="${v}"} 0`,
      ),
    );
  });

  it('has no series for impossible combinations', () => {
    const decisions = new Metric({
      name: 'tests_total',
      kind: 'counter',
      help: 'For a test.',
      labels: [
        ['outcome', ['admitted', 'refused']],
        ['policy', ['', 'minute']],
      ],
      isPossible: ([outcome, policy]) => (outcome === 'refused') === (policy !== ''),
      create,
    });
    expect(lines(decisions)).toEqual([
      'tests_total{outcome="admitted",policy=""} 0',
      'tests_total{outcome="refused",policy="minute"} 0',
    ]);
  });

  it('has series for configured names until the last `begin` is ended', () => {
    const calls = counterOf(['service', 'config'], ['outcome', ['answered', 'reset']]);
    expect(lines(calls)).toEqual([]);
    calls.begin({ service: 'orders' });
    calls.begin({ service: 'orders' });
    calls.begin({ service: 'users' });
    calls.series('orders', 'reset').inc();
    calls.end({ service: 'orders' });
    expect(lines(calls)).toHaveLength(4);
    calls.end({ service: 'orders' });
    expect(lines(calls)).toEqual(['answered', 'reset'].map((o) => `tests_total{service="users",outcome="${o}"} 0`));
  });

  it('frees room for new series when old ones end', () => {
    const calls = counterOf(['target', 'config']);
    for (let target = 0; target < 3 * LARGEST_METRIC; target++) {
      calls.begin({ target: `t${target}` });
      calls.end({ target: `t${target}` });
    }
    calls.series('late').inc();
    expect(lines(calls)).toEqual(['tests_total{target="late"} 1']);
  });
});

describe('all metrics together', () => {
  it('share a limit of lines', () => {
    const budget = new LineBudget(100);
    const one = { name: 'tests_total', kind: 'counter', help: 'For a test.', create } as const;
    const metrics = Array.from({ length: 5 }, () => new Metric({ ...one, labels: [['name', 'open']] }, budget));
    for (const metric of metrics) for (let n = 0; n < 40; n++) metric.series(`n${n}`).inc();
    expect(metrics.map((metric) => lines(metric).length)).toEqual([40, 40, 21, 1, 1]);
    expect(lines(metrics.at(-1)!)).toEqual(['tests_total{name="other"} 40']);
  });
});
