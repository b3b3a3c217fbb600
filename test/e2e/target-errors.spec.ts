/**
 * Failing targets and their errors are in metrics, alerts and the list of targets, even though a 500 leaves them in
 * service.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { startBackend, type Backend } from '../support/backend.js';
import { describeWithPrometheus } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { temporaryFolder } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

const REQUESTS = 60;
const CALLS = 'trailgate_upstream_target_calls_total';

let gateway: Proxied;
let well: Backend;
let broken: Backend;
/** Number of calls by series, after all requests. */
let calls: Map<string, number>;

beforeAll(async () => {
  well = await startBackend((_request, response) => void response.end('well'));
  broken = await startBackend((_request, response) => void response.writeHead(500).end('{"error":"no database"}'));
  gateway = await startProxied({
    targets: [well.url, broken.url],
    config: { plans: { unlimited: { account: { month: 10_000 } } } },
  });
  for (let count = 0; count < REQUESTS; count++) await gateway.send('/open');
  const series = seriesOf((await send(`${gateway.trailgate.adminUrl}/metrics`)).text);
  calls = new Map([...series].filter(([name]) => name.startsWith(`${CALLS}{`)));
});
afterAll(async () => {
  await gateway.stop();
  await well.stop();
  await broken.stop();
});

const counted = (target: string, status: string): number | undefined =>
  calls.get(`${CALLS}{service="backend",target="${target}",outcome="answered",status="${status}"}`);

it('calls are counted by target and by the status of the response', () => {
  expect(counted(well.url, '2xx')).toBe(well.requests.length);
  expect(counted(broken.url, '500')).toBe(broken.requests.length);
  expect(well.requests.length + broken.requests.length).toBe(REQUESTS);
  expect([counted(well.url, '500'), counted(broken.url, '2xx')]).toEqual([0, 0]);
});

it('a 500 is shown as the last failure of its target, which stays in service', async () => {
  const { data } = await gateway.trailgate.admin.call<{ data: unknown[] }>('GET', '/targets');
  expect(data).toMatchObject([
    { target: well.url, state: 'healthy', last_failure: null },
    { target: broken.url, state: 'healthy', last_failure: { outcome: 'answered', backend_status: 500 } },
  ]);
});

describeWithPrometheus('the alerts of docs/metrics.md', () => {
  it('fire for a target that answers every request with 500, and for no other', () => {
    const [, rules = ''] = /^```yaml\n(groups:[\s\S]*?)^```/m.exec(readFileSync('docs/metrics.md', 'utf8')) ?? [];
    const folder = temporaryFolder('alerts');
    writeFileSync(join(folder, 'rules.yml'), rules);
    const test = {
      rule_files: ['rules.yml'],
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          // Simulates as many calls in each minute as there were in this test.
          input_series: [...calls].map(([series, count]) => ({ series, values: `0+${count}x20` })),
          alert_rule_test: [
            {
              eval_time: '15m',
              alertname: 'TargetErrors',
              exp_alerts: [{ exp_labels: { service: 'backend', target: broken.url } }],
            },
          ],
        },
      ],
    };
    writeFileSync(join(folder, 'test.yml'), stringify(test));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', join(folder, 'test.yml')], {
      encoding: 'utf8',
    });
    expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });
});
