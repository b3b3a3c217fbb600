/**
 * Counters exist with value 0 before their first event. Prometheus then sees the first event as an increase, which it
 * does not see for a counter that starts at 1.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { METRICS } from '../../src/platform/metrics.js';
import { send } from '../support/http.js';
import { labelsOf, seriesOf } from '../support/metrics-text.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

type Yaml = Record<string, Record<string, unknown>>;

/** Label values of a series, by label name. */
type Labels = Readonly<Record<string, string>>;

let trailgate: RunningTrailgate;
beforeAll(async () => {
  const shadow = { key: { minute: 1 } };
  trailgate = await startTrailgate({
    backend: ['http://127.0.0.1:9', 'http://127.0.0.1:19'],
    config: { plans: { starter: { shadow }, pro: { shadow }, unlimited: { shadow } } },
  });
});
afterAll(() => trailgate?.stop());

/** Scrapes the metrics. Returns the series of each, with a histogram represented by its count. */
async function scraped(): Promise<Map<string, [Labels, number][]>> {
  const series = seriesOf((await send(`${trailgate.adminUrl}/metrics`)).text);
  const byName = new Map<string, [Labels, number][]>();
  for (const [text, value] of series) {
    const [, name = '', labels = ''] = /^(\w+?)(?:_count)?(?:\{(.*)\})?$/.exec(text) ?? [];
    byName.set(name, [...(byName.get(name) ?? []), [Object.fromEntries(labelsOf(labels)), value]]);
  }
  return byName;
}

/** Returns the label values that this configuration implies, one entry per series. */
function impliedLabels(labels: readonly string[], services: Yaml, plans: readonly string[]): Labels[] {
  if (labels.includes('plan')) return plans.map((plan) => ({ plan }));
  if (!labels.includes('service')) return [{}];
  return Object.entries(services).flatMap(([service, { targets }]) =>
    labels.includes('target') ? (targets as string[]).map((target) => ({ service, target })) : [{ service }],
  );
}

/** Compares the scrape with METRICS. Returns the number of expected series, and the metrics that lack some. */
async function missing(): Promise<{ promised: number; missing: unknown[] }> {
  const { services, plans } = parse(readFileSync(trailgate.configPath, 'utf8')) as { services: Yaml; plans: Yaml };
  const present = await scraped();
  let promised = 0;
  const lacking: unknown[] = [];
  for (const { name, kind, labelNames, labelValues } of Object.values(METRICS)) {
    if (kind === 'gauge' || labelValues.includes('open')) continue;
    for (const expected of impliedLabels(labelNames, services, Object.keys(plans))) {
      const series = (present.get(name) ?? []).filter(([labels]) =>
        Object.entries(expected).every(([label, value]) => labels[label] === value),
      );
      const lists = labelValues.filter((values) => typeof values !== 'string');
      // Not all combinations of labels exist. So each metric needs at least as many series as its longest list has
      // values.
      const least = Math.max(1, ...lists.map((values) => values.length));
      promised += least;
      if (series.length < least) lacking.push([name, expected, series.length, least]);
    }
  }
  return { promised, missing: lacking };
}

describe('a program that has just started', () => {
  it('has every counter whose labels are known from the source or the configuration, at 0', async () => {
    const { promised, missing: lacking } = await missing();
    expect(lacking).toEqual([]);
    expect(promised).toBeGreaterThan(150);
    const present = await scraped();
    const counted = Object.values(METRICS)
      .filter(({ kind, name }) => kind !== 'gauge' && !/^trailgate_(usage|quota_store_call|housekeeping)/.test(name))
      .flatMap(({ name }) => (present.get(name) ?? []).map(([labels, value]) => [name, labels, value]));
    // The backends of this configuration do not exist, and no request has been sent yet.
    expect(counted.filter(([, , value]) => value !== 0)).toEqual([]);
  });

  it('runs each task of the worker role, and none fails', async () => {
    const { name, labelValues } = METRICS.housekeepingRuns;
    const tasks = labelValues[0] as readonly string[];
    const runs = async (outcome: string) =>
      ((await scraped()).get(name) ?? []).filter(([labels, value]) => labels['outcome'] === outcome && value > 0);
    await eventually('all tasks have run', async () => (await runs('done')).length === tasks.length);
    expect(await runs('failed')).toEqual([]);
    expect(tasks).toHaveLength(11);
  });

  it('has the counters of a service and plan that a reload adds, and none of a target that it removes', async () => {
    const config = parse(readFileSync(trailgate.configPath, 'utf8')) as Yaml;
    config['services']!['added'] = { targets: ['http://127.0.0.1:29'] };
    (config['services']!['backend'] as { targets: string[] }).targets = ['http://127.0.0.1:9'];
    config['plans']!['added'] = { shadow: { account: { minute: 5 } } };
    writeFileSync(trailgate.configPath, stringify(config));
    const applied = 'trailgate_config_reloads_total{result="applied"} 1';
    await eventually('the configuration is applied', async () =>
      (await send(`${trailgate.adminUrl}/metrics`)).text.includes(applied),
    );
    expect((await missing()).missing).toEqual([]);
    const gone = async () =>
      [...(await scraped())].flatMap(([name, series]) =>
        series.flatMap(([{ target }]) => (target === 'http://127.0.0.1:19' ? [name] : [])),
      );
    await eventually('the removed target has no series', async () => (await gone()).length === 0, 15_000);
    expect((await missing()).missing).toEqual([]);
  });
});
