/** Failing targets are detected by their calls. A single dead one is reported, and one of two is ejected. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

const CALLS = 240;

let gateway: Proxied;
let well: Backend;
let dead: Backend;
let unwilling: Backend;
let resetting: Backend;
let frozen: Backend;

beforeAll(async () => {
  let asked = 0;
  well = await startBackend((_request, response) => void response.end('well'));
  dead = await startBackend((_request, response) => void response.end('well'));
  unwilling = await startBackend((_request, response) => void response.writeHead(asked++ % 2 === 0 ? 503 : 200).end());
  resetting = await startBackend((request, response) => {
    if (asked++ % 10 < 3) request.socket.destroy();
    else response.end('well');
  });
  frozen = await startBackend(() => undefined);
  gateway = await startProxied({
    targets: [well.url],
    config: {
      services: {
        only: { targets: [dead.url] },
        frozen: { targets: [frozen.url], timeouts: { firstByte: '100ms' } },
        unwilling: { targets: [well.url, unwilling.url] },
        resetting: { targets: [well.url, resetting.url] },
      },
      operations: ['only', 'frozen', 'unwilling', 'resetting'].map((service) => ({
        match: `POST /${service}`,
        service,
        scopes: [],
      })),
      plans: { starter: { key: { minute: null }, account: { minute: null } } },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  for (const backend of [well, unwilling, resetting, frozen]) await backend.stop();
});

const post = async (path: string) => (await gateway.send(path, { method: 'POST' })).status;
const logged = (event: string, service: string) =>
  gateway.trailgate.logs().filter((line) => line['event'] === event && line['service'] === service);

describe('a single dead target without `health` and `ejection`', () => {
  const seen = async () => {
    const { adminUrl, admin } = gateway.trailgate;
    const { checks } = (await send(`${adminUrl}/readyz`)).json() as { checks: Record<string, unknown> };
    const series = seriesOf((await send(`${adminUrl}/metrics`)).text);
    const { data } = await admin.call<{ data: { service: string; state: string }[] }>('GET', '/targets');
    const count = (state: string) =>
      series.get(`trailgate_upstream_targets{service="only",target="${dead.url}",state="${state}"}`);
    return {
      backends: checks['backends'],
      state: data.find(({ service }) => service === 'only')?.state,
      healthy: count('healthy'),
      failing: count('failing'),
    };
  };

  it('is reported as failing after three failed calls, in readiness, metrics, admin API and log', async () => {
    expect(await post('/only')).toBe(200);
    expect(await seen()).toEqual({ backends: { status: 'pass' }, state: 'healthy', healthy: 1, failing: 0 });
    await dead.stop();
    expect([await post('/only'), await post('/only')]).toEqual([502, 502]);
    expect(await seen()).toMatchObject({ backends: { status: 'pass' }, state: 'healthy' });
    expect([await post('/only'), await post('/only')]).toEqual([502, 502]);
    await eventually('/readyz reports the failing target', async () =>
      JSON.stringify((await seen()).backends).includes('only'),
    );
    expect(await seen()).toEqual({
      backends: { status: 'warn', detail: 'every call fails: only' },
      state: 'failing',
      healthy: 0,
      failing: 1,
    });
    expect((await send(`${gateway.trailgate.adminUrl}/readyz`)).status).toBe(200);
    await eventually('target_failing is logged', () => logged('target_failing', 'only').length > 0);
    expect(logged('target_failing', 'only')).toMatchObject([
      { target: dead.url, last: 'unreachable', failed_calls: { unreachable: 3 } },
    ]);
  });

  it('is reported as healthy after its first successful call', async () => {
    dead = await startBackend((_request, response) => void response.end('well'), {
      port: Number(new URL(dead.url).port),
    });
    try {
      expect(await post('/only')).toBe(200);
      await eventually(
        '/readyz no longer reports the target',
        async () => !JSON.stringify((await seen()).backends).includes('only'),
      );
      expect(await seen()).toEqual({ backends: { status: 'pass' }, state: 'healthy', healthy: 1, failing: 0 });
      await eventually('target_back is logged', () => logged('target_back', 'only').length === 1);
    } finally {
      await dead.stop();
    }
  });
});

it('a single frozen target is reported after some seconds, not for three simultaneous timeouts', async () => {
  const stateOf = async () => {
    const { data } = await gateway.trailgate.admin.call<{ data: { service: string; state: string }[] }>(
      'GET',
      '/targets',
    );
    return data.find(({ service }) => service === 'frozen')?.state;
  };
  const beganMs = performance.now();
  expect(await Promise.all([post('/frozen'), post('/frozen'), post('/frozen')])).toEqual([504, 504, 504]);
  expect([await stateOf(), logged('target_failing', 'frozen')]).toEqual(['healthy', []]);
  await eventually(
    'the frozen target is reported as failing',
    async () => (await post('/frozen')) === 504 && (await stateOf()) === 'failing',
    15_000,
  );
  expect(performance.now() - beganMs).toBeLessThan(30_000);
  await eventually('target_failing is logged', () => logged('target_failing', 'frozen').length > 0);
  expect(logged('target_failing', 'frozen')).toMatchObject([{ last: 'first_byte_timeout' }]);
});

describe('one of two targets', () => {
  it.each([
    ['answers half of its calls with 503', 'unwilling'],
    ['resets three in ten', 'resetting'],
  ])('that %s is ejected, although its failures are not consecutive', async (_what, service) => {
    const statuses: number[] = [];
    for (let call = 0; call < CALLS; call++) statuses.push(await post(`/${service}`));
    // The target may by chance get more of the first calls than the other one.
    expect(statuses.filter((status) => status !== 200).length).toBeLessThan(20);
    const [lost] = logged('target_lost', service);
    expect(lost).toMatchObject({ state: 'ejected', recent_calls: expect.any(Number) });
    expect(Number(lost?.['recent_calls'])).toBeGreaterThanOrEqual(20);
  });
});
