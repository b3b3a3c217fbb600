/** Metrics, log lines and probes are well-formed, correct and bounded. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { METRICS } from '../../src/platform/metrics.js';
import { createSecret } from '../../src/keys/api-key-format.js';
import type { Account, ApiKeyWithSecret } from '../support/admin.js';
import { startBackend, type Backend } from '../support/backend.js';
import { describeWithPrometheus } from '../support/describe-with.js';
import { send, sendRaw, type Answer } from '../support/http.js';
import { labelsOf, parseMetrics, seriesOf, type MetricFamily } from '../support/metrics-text.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { complaintsOfPromtool } from '../support/prometheus.js';

let backend: Backend;
let gateway: RunningTrailgate;
let account: Account;
let key: ApiKeyWithSecret;

beforeAll(async () => {
  backend = await startBackend((request, response) => {
    const status = request.url === '/customers/broken' ? 500 : 200;
    setTimeout(() => response.writeHead(status, { 'content-type': 'application/json' }).end('{}'), 20);
  });
  const nowhere = { targets: ['http://127.0.0.1:9'] };
  gateway = await startTrailgate({
    backend: backend.url,
    config: {
      services: { nowhere },
      operations: [{ match: 'GET /nowhere', service: 'nowhere', scopes: [], id: 'say "no"', cost: 7 }],
      plans: { three: { key: { minute: 3 } } },
    },
  });
  ({ account, key } = await gateway.admin.newKey('pro'));
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

const call = (path: string, secret = key.secret, headers: Record<string, string> = {}): Promise<Answer> =>
  send(`${gateway.gatewayUrl}/api/v1${path}`, { headers: { Authorization: `Bearer ${secret}`, ...headers } });
const scrape = () => send(`${gateway.adminUrl}/metrics`);

/** Returns how much each series grew during an action. Leaves out series that did not grow. */
async function growth(what: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = seriesOf((await scrape()).text);
  await what();
  // A request is counted when its connection has finished it, a moment after the response has arrived.
  await new Promise((done) => setTimeout(done, 50));
  const after = seriesOf((await scrape()).text);
  const grown = [...after].map(([name, value]) => [name, value - (before.get(name) ?? 0)] as const);
  return Object.fromEntries(
    grown.filter(([name, by]) => by !== 0 && /^(?:http|trailgate)_.*(?:_total|_count|_sum)/.test(name)),
  );
}

describe('/metrics', () => {
  it('is Prometheus text with help and type for every metric', async () => {
    await call('/customers');
    const { status, headers, text } = await scrape();
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    // The format of the metrics depends on the Accept field.
    expect(headers['vary']).toBe('accept');
    const families = parseMetrics(text);
    expect(families.size).toBeGreaterThan(Object.keys(METRICS).length);
  });

  it('has every metric of the source with its type, help and labels', async () => {
    const families = parseMetrics((await scrape()).text);
    for (const { name, kind, help, labelNames } of Object.values(METRICS)) {
      const family = families.get(name) as MetricFamily;
      expect([name, family?.type, family?.help]).toEqual([name, kind, help]);
      for (const series of family.samples.keys()) {
        const labels = labelsOf(/\{(.*)\}$/.exec(series)?.[1] ?? '').map(([label]) => label);
        expect(labels.filter((label) => label !== 'le')).toEqual(labelNames);
      }
    }
  });

  it('counts an answered request once in each metric that it affects', async () => {
    const grown = await growth(() => call('/customers/7'));
    const labels = 'http_request_method="GET",http_route="/customers/{id}",http_response_status_code="200"';
    expect(grown).toMatchObject({
      [`http_server_request_duration_seconds_count{${labels}}`]: 1,
      'trailgate_upstream_request_duration_seconds_count{service="backend",outcome="answered"}': 1,
      'trailgate_quota_decisions_total{plan="pro",outcome="admitted",policy=""}': 1,
      'trailgate_key_lookups_total{result="memory"}': 1,
    });
    const seconds = grown[`http_server_request_duration_seconds_sum{${labels}}`] ?? 0;
    const upstream =
      grown['trailgate_upstream_request_duration_seconds_sum{service="backend",outcome="answered"}'] ?? 0;
    expect(seconds).toBeGreaterThanOrEqual(0.019);
    expect(seconds).toBeLessThan(5);
    expect(upstream).toBeGreaterThanOrEqual(0.019);
    expect(upstream).toBeLessThanOrEqual(seconds);
    expect(Object.keys(grown).filter((name) => name.includes('refusals'))).toEqual([]);
  });

  it('counts refusals by code and fault, and quota decisions and refunds by outcome', async () => {
    const { key: three } = await gateway.admin.newKey('three', { scopes: ['customers:read'] });
    const grown = await growth(async () => {
      for (let round = 0; round < 5; round++) await call('/customers', three.secret);
      await call('/files/a', three.secret);
      await call('/customers', createSecret('live'));
      await call('/nothing');
      await call('/customers/broken');
      await call('/nowhere');
    });
    expect(grown).toMatchObject({
      'trailgate_refusals_total{code="rate_limited",fault="client"}': 2,
      'trailgate_refusals_total{code="insufficient_scope",fault="client"}': 1,
      'trailgate_refusals_total{code="invalid_api_key",fault="client"}': 1,
      'trailgate_refusals_total{code="route_not_found",fault="client"}': 1,
      'trailgate_refusals_total{code="backend_error",fault="backend"}': 1,
      'trailgate_refusals_total{code="backend_unreachable",fault="backend"}': 1,
      'trailgate_quota_decisions_total{plan="three",outcome="admitted",policy=""}': 3,
      'trailgate_quota_decisions_total{plan="three",outcome="refused",policy="key-minute"}': 2,
      'trailgate_quota_refunds_total{outcome="done"}': 1,
      'trailgate_quota_refunded_cost_total{outcome="done"}': 7,
      'trailgate_upstream_request_duration_seconds_count{service="nowhere",outcome="unreachable"}': 1,
    });
  });

  it('counts a request that is not HTTP as a client error', async () => {
    const port = Number(new URL(gateway.gatewayUrl).port);
    const grown = await growth(() => sendRaw(port, 'this is not HTTP\r\n\r\n'));
    expect(grown['trailgate_client_errors_total{code="bad_request"}']).toBe(1);
  });

  it('counts and logs a path that cannot be decoded like any other refusal', async () => {
    const path = '/api/v1/customers/%ff';
    const grown = await growth(() =>
      sendRaw(Number(new URL(gateway.gatewayUrl).port), `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`),
    );
    expect(grown).toMatchObject({ 'trailgate_refusals_total{code="invalid_path",fault="client"}': 1 });
    await eventually('the request is logged', () => gateway.logs().some((line) => line['path'] === path));
    expect(gateway.logs().filter((line) => line['path'] === path)).toEqual([
      expect.objectContaining({ event: 'request', status: 400, code: 'invalid_path', client_address: '127.0.0.1' }),
    ]);
  });

  it('counts nothing for its own scrapes', async () => {
    expect(await growth(scrape)).toEqual({});
  });

  it('gains no series from paths, methods, keys, hosts and user agents that clients invent', async () => {
    const port = Number(new URL(gateway.gatewayUrl).port);
    const inventive = async (round: string) => {
      const one = (index: number) => [
        call(`/no-${round}-${index}`),
        call(`/customers/${round}-${index}?q=${index}`, createSecret('live')),
        call('/usage', 'junk', { Host: `h${index}.${round}.example`, 'User-Agent': `a${index}${round}` }),
        send(`${gateway.gatewayUrl}/api/v1/x`, { method: ['PROPFIND', 'MKCOL', 'LOCK', 'PURGE'][index % 4] ?? '' }),
      ];
      for (let index = 0; index < 250; index++) await Promise.all(one(index));
      for (let index = 0; index < 10; index++) await sendRaw(port, `X${index} / HTTP/1.1\r\nHost: a\r\n\r\n`, 200);
    };
    const names = async () => new Set(seriesOf((await scrape()).text).keys());
    await inventive('warm');
    const before = await names();
    await inventive('again');
    // Leaves out series that come and go: open resources of Node by type, top accounts, and kinds of garbage collection
    // that have not occurred before.
    const others =
      /^nodejs_active_|^nodejs_gc_duration_seconds\w*\{.*kind="(incremental|major|minor|weakcb)"|flush|_top_account_/;
    const ours = [...(await names())].filter((name) => !others.test(name));
    expect(ours.filter((name) => !before.has(name))).toEqual([]);
    expect([...before].filter((name) => /warm|PROPFIND|X\d/.test(name))).toEqual([]);
    expect([...before].some((name) => name.includes('http_request_method="_OTHER"'))).toBe(true);
  });

  it('contains no API key, and account IDs only in the metrics of the top accounts', async () => {
    await call('/customers');
    const { text } = await scrape();
    for (const secret of [key.id, key.secret, key.hint]) expect(text).not.toContain(secret);
    const named = text.split('\n').filter((line) => line.includes(account.id));
    expect(named.filter((line) => !line.startsWith('trailgate_quota_top_account_'))).toEqual([]);
  });
});

describeWithPrometheus('promtool', () => {
  it('finds no problem in /metrics, including the metrics of Node', async () => {
    expect(complaintsOfPromtool((await scrape()).text)).toBe('');
  });
});

describe('the log', () => {
  /** Returns the log line of the request with this ID, once it is written. */
  async function lineOf(id: string): Promise<Record<string, unknown>> {
    const find = () => gateway.logs().filter((line) => line['event'] === 'request' && line['request_id'] === id);
    await eventually('the request is logged', () => find().length > 0);
    expect(find()).toHaveLength(1);
    return find()[0] ?? {};
  }

  it('has one JSON line for each request, with its outcome and durations', async () => {
    await call('/customers/7?secret=query', key.secret, { 'X-Request-Id': 'log-1' });
    expect(await lineOf('log-1')).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      event: 'request',
      request_id: 'log-1',
      method: 'GET',
      path: '/api/v1/customers/7',
      status: 200,
      duration_ms: expect.any(Number),
      upstream_ms: expect.any(Number),
      account_id: account.id,
      api_key_id: key.id,
      operation: 'getCustomer',
      service: 'backend',
      quota: 'admitted',
      client_address: '127.0.0.1',
    });
  });

  it('has the error code of a refused request, and omits fields that were never known', async () => {
    await call('/customers', createSecret('live'), { 'X-Request-Id': 'log-2' });
    const line = await lineOf('log-2');
    expect(line).toMatchObject({ status: 401, code: 'invalid_api_key', operation: 'listCustomers' });
    for (const name of ['api_key_id', 'account_id', 'quota', 'upstream_ms']) expect(line).not.toHaveProperty(name);
  });

  it('stays valid JSON with special characters in a path or in the configuration', async () => {
    await call(`/nothing"'\\%c3%a9%0a{}`, key.secret, { 'X-Request-Id': 'log-3' });
    expect(await lineOf('log-3')).toMatchObject({ path: expect.stringContaining(`/api/v1/nothing"'\\`) });
    await call('/nowhere', key.secret, { 'X-Request-Id': 'log-4' });
    expect(await lineOf('log-4')).toMatchObject({ operation: 'say "no"', status: 502 });
    for (const line of gateway.stdout) expect(() => JSON.parse(line) as unknown).not.toThrow();
  });

  it('has status 499 for a client that disconnected before its response', async () => {
    const leaving = new AbortController();
    const headers = { Authorization: `Bearer ${key.secret}`, 'X-Request-Id': 'log-5' };
    const gone = send(`${gateway.gatewayUrl}/api/v1/customers`, { headers, signal: leaving.signal });
    await eventually('the backend gets the request', () =>
      backend.requests.some(({ headers: h }) => h['x-request-id'] === 'log-5'),
    );
    leaving.abort();
    await gone.catch(() => undefined);
    expect(await lineOf('log-5')).toMatchObject({ status: 499 });
  });

  it('has level, time and event in every line, and stderr stays empty', () => {
    const incomplete = gateway.logs().filter((line) => {
      return ['level', 'time', 'event'].some((name) => typeof line[name] !== 'string');
    });
    expect(incomplete).toEqual([]);
    expect(gateway.stderr).toEqual([]);
  });
});

describe('the probes', () => {
  it('answer: /livez that the process is alive, and /readyz with its checks', async () => {
    expect((await send(`${gateway.adminUrl}/livez`)).json()).toEqual({ status: 'alive' });
    const { status, text } = await send(`${gateway.adminUrl}/readyz`);
    expect([status, JSON.parse(text)]).toEqual([
      200,
      {
        status: 'ready',
        checks: expect.objectContaining({ database: { status: 'pass' }, quota_store: { status: 'pass' } }) as unknown,
      },
    ]);
  });

  it('are not found on the public listener, and neither are the metrics and the admin API', async () => {
    for (const path of ['/metrics', '/livez', '/readyz', '/admin/v1/accounts', '/api/v1/metrics']) {
      expect([path, (await send(gateway.gatewayUrl + path)).status]).toEqual([path, 404]);
    }
  });
});
