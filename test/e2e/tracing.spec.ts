/** Spans reach an OpenTelemetry collector over OTLP, for sampled requests and for failures. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { send } from '../support/http.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { startTraceCollector, type CollectedSpan, type TraceCollector } from '../support/trace-collector.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const SERVER = 2;
const ERROR = { code: 2 };

let backend: Backend;
let collector: TraceCollector;
let gateway: RunningTrailgate;
let secret: string;

beforeAll(async () => {
  collector = await startTraceCollector();
  backend = await startBackend((request, response) => {
    setTimeout(() => response.writeHead(request.url === '/customers/broken' ? 503 : 200).end('{}'), 20);
  });
  const tracing = { endpoint: collector.url, share: 0, followCallers: true, headers: { 'x-tenant': 'tenant-1' } };
  gateway = await startTrailgate({ backend: backend.url, config: { tracing, plans: { one: { key: { minute: 1 } } } } });
  ({ secret } = (await gateway.admin.newKey('unlimited')).key);
});
afterAll(async () => {
  await gateway?.stop();
  await Promise.all([backend?.stop(), collector?.stop()]);
});
beforeEach(() => void collector.spans.splice(0));

const call = (path: string, headers: Record<string, string> = {}, key = secret) =>
  send(`${gateway.gatewayUrl}/api/v1${path}`, { headers: { authorization: `Bearer ${key}`, ...headers } });
const sampled = { traceparent: `00-${TRACE}-${CALLER}-01` };
const attributes = ({ attributes: list }: CollectedSpan) =>
  Object.fromEntries(
    list.map(({ key, value }) => [key, 'intValue' in value ? Number(value.intValue) : value.stringValue]),
  );
const millis = ({ startTimeUnixNano: start, endTimeUnixNano: end }: CollectedSpan) =>
  Number((BigInt(end) - BigInt(start)) / 1_000_000n);

/** Waits for the spans of one request. Returns them with the server span first. */
async function spansOfRequest(): Promise<CollectedSpan[]> {
  await eventually('the spans are exported', () => collector.spans.length > 0, 10_000);
  expect(collector.complaints).toEqual([]);
  return collector.spans.toSorted((a, b) => Number(b.kind === SERVER) - Number(a.kind === SERVER));
}

it('a sampled request exports spans of itself, key check, quota decision and backend call', async () => {
  await call('/customers/7?secret=query', { ...sampled, 'x-request-id': 'trace-1' });
  const [request, ...children] = await spansOfRequest();
  expect(request).toMatchObject({ traceId: TRACE, parentSpanId: CALLER, name: 'GET /customers/{id}', kind: SERVER });
  expect(attributes(request!)).toMatchObject({
    'http.request.method': 'GET',
    'http.route': '/customers/{id}',
    'http.response.status_code': 200,
    'url.path': '/api/v1/customers/7',
    'trailgate.request_id': 'trace-1',
    'trailgate.quota': 'admitted',
  });
  expect(children.map(({ name }) => name)).toEqual(['key check', 'quota decision', 'GET']);
  for (const child of children) {
    expect(child).toMatchObject({ traceId: TRACE, parentSpanId: request!.spanId });
    expect(BigInt(child.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(request!.startTimeUnixNano));
    expect(BigInt(child.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(request!.endTimeUnixNano));
  }
  expect(new Set([request, ...children].map((span) => span!.spanId)).size).toBe(4);
  const toBackend = children.at(-1)!;
  expect(millis(toBackend)).toBeGreaterThanOrEqual(19);
  expect(backend.requests.at(-1)?.headers['traceparent']).toBe(`00-${TRACE}-${toBackend.spanId}-01`);
  expect(collector.headers['x-tenant']).toBe('tenant-1');
  expect(JSON.stringify(collector.spans)).not.toContain('query');
  expect(JSON.stringify(collector.spans)).not.toContain(secret);
  await eventually('the request is logged with its trace', () =>
    gateway.logs().some(({ request_id: id, trace_id: trace }) => id === 'trace-1' && trace === TRACE),
  );
});

it('requests that are not sampled export no spans, except for a 5xx', async () => {
  await call('/customers', { traceparent: `00-${TRACE}-${CALLER}-00` });
  await call('/customers');
  await call('/nothing', { traceparent: `00-${TRACE}-${CALLER}-00` });
  const { text } = await call('/customers/broken');
  const [request, ...children] = await spansOfRequest();
  expect(request).toMatchObject({ name: 'GET /customers/{id}', status: ERROR });
  expect(request).not.toHaveProperty('parentSpanId');
  expect(attributes(request!)).toMatchObject({ 'error.type': 'backend_unavailable' });
  expect(children).toHaveLength(3);
  expect(children.at(-1)).toMatchObject({ status: ERROR });
  expect(JSON.parse(text)).toMatchObject({ code: 'backend_unavailable', trace_id: request!.traceId });
  const sentToBackend = backend.requests.at(-1)?.headers['traceparent'];
  expect(sentToBackend).toBe(`00-${request!.traceId}-${children.at(-1)!.spanId}-00`);
});

it('callers cannot cause traces unless followCallers is on', async () => {
  const config = { tracing: { endpoint: collector.url, share: 0 } };
  const strict = await startTrailgate({ backend: backend.url, config });
  const { key } = await strict.admin.newKey('unlimited');
  const headers = { authorization: `Bearer ${key.secret}`, ...sampled };
  const path = `${strict.gatewayUrl}/api/v1/customers`;
  expect((await send(path, { headers })).status).toBe(200);
  expect(backend.requests.at(-1)?.headers['traceparent']).toMatch(new RegExp(`^00-${TRACE}-\\w{16}-00$`));
  expect((await send(`${path}/broken`, { headers })).status).toBe(503);
  // The failure is exported, so a span of the success would have arrived, too.
  const [request] = await spansOfRequest();
  expect(request).toMatchObject({ traceId: TRACE, name: 'GET /customers/{id}', status: ERROR });
  expect(collector.spans.filter(({ kind }) => kind === SERVER)).toHaveLength(1);
  await strict.stop();
});

it('a refused request exports the step that refused it, and no backend call', async () => {
  const { key } = await gateway.admin.newKey('one');
  await call('/customers', {}, key.secret);
  const { status } = await call('/customers', sampled, key.secret);
  expect(status).toBe(429);
  const [request, ...children] = await spansOfRequest();
  expect(attributes(request!)).toMatchObject({ 'trailgate.code': 'rate_limited', 'trailgate.quota': 'refused' });
  expect(children.map(({ name }) => name)).toEqual(['key check', 'quota decision']);
});

it('requests are served while the collector fails, and their spans are exported when it recovers', async () => {
  collector.answer = { status: 503, body: '{}' };
  const before = collector.exports;
  expect((await call('/customers', sampled)).status).toBe(200);
  await eventually('an export has failed', () => collector.exports > before, 10_000);
  expect(collector.spans).toEqual([]);
  collector.answer = { status: 200, body: '{}' };
  expect(await spansOfRequest()).toHaveLength(4);
  expect(gateway.logs()).toContainEqual(
    expect.objectContaining({ event: 'spans_not_exported', reason: 'status 503', waiting: 4 }),
  );
});

it('shutdown exports the last spans', async () => {
  await call('/customers', sampled);
  await gateway.stop();
  expect(collector.spans).toHaveLength(4);
  expect(collector.complaints).toEqual([]);
});
