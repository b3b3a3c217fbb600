/** The docs list every alert of deploy/alerts.yaml, and promtool tests each of them. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { METRICS } from '../src/platform/metrics.js';
import { describeWithPrometheus } from './support/describe-with.js';
import { findPrometheus } from './support/servers.js';

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

interface RuleTests {
  readonly tests: readonly {
    readonly input_series: readonly { readonly series: string }[];
    readonly alert_rule_test?: readonly { readonly alertname: string; readonly exp_alerts: readonly unknown[] }[];
  }[];
}

const FILE = 'deploy/alerts.yaml';
const TESTS = 'deploy/alerts.test.yaml';
const text = readFileSync(FILE, 'utf8');
const rules = (parse(text) as Rules).groups.flatMap((group) => group.rules);
const { tests } = parse(readFileSync(TESTS, 'utf8')) as RuleTests;

function promtool(...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(findPrometheus()?.tool ?? '', args, { encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
}

describe('deploy/alerts.yaml', () => {
  it('is quoted in docs/metrics.md, including comments', () => {
    const [, quoted] =
      /## Alerts to begin with[\s\S]*?^```yaml\n([\s\S]*?)^```/m.exec(readFileSync('docs/metrics.md', 'utf8')) ?? [];
    expect(text.slice(text.indexOf('groups:'))).toBe(quoted);
  });

  it('has exactly the alerts that docs/failure-modes.md lists', () => {
    const [, table = ''] = /^## By alert\n([\s\S]*?)^## /m.exec(readFileSync('docs/failure-modes.md', 'utf8')) ?? [];
    const named = [...table.matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name);
    expect(named.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
  });

  it('uses only existing metrics, and 500 is a label value of upstream calls', () => {
    const names = rules.flatMap(({ expr }) =>
      [...expr.matchAll(/\b(trailgate_\w+|http_server_\w+)/g)].map(([, name = '']) => name),
    );
    const known = Object.values(METRICS).map(({ name }) => name);
    expect(names.filter((name) => !known.includes(name.replace(/_(?:bucket|sum|count)$/, '')))).toEqual([]);
    const [, , , values] = METRICS.upstreamTargetCalls.labelValues;
    expect(values).toContain('500');
  });

  it('has a test in which each alert fires, and a first test with all of its metrics', () => {
    const fired = tests.flatMap(({ alert_rule_test: tried = [] }) =>
      tried.flatMap(({ alertname, exp_alerts: expected }) => (expected.length > 0 ? [alertname] : [])),
    );
    expect([...new Set(fired)].toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
    const quiet = tests[0]?.input_series.map(({ series }) => series).join('\n') ?? '';
    for (const { expr } of rules) {
      for (const [, name = ''] of expr.matchAll(/\b(trailgate_\w+)/g)) expect(quiet).toContain(name);
    }
  });
});

describeWithPrometheus('promtool', () => {
  it('accepts the rules', () => {
    expect(promtool('check', 'rules', FILE)).toMatchObject({ status: 0 });
  });

  it('accepts the Prometheus configuration of docker-compose.yml', () => {
    expect(promtool('check', 'config', 'deploy/prometheus.yaml')).toMatchObject({ status: 0 });
  });

  it('passes the tests of the rules', () => {
    const { status, output } = promtool('test', 'rules', TESTS);
    expect({ status, output }).toMatchObject({ status: 0, output: expect.stringContaining('SUCCESS') });
  });
});
