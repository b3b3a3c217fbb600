/** Spans are exported once or counted as dropped. An unavailable collector causes no leak and no hanging shutdown. */
import { openSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { startTraceCollector, type TraceCollector } from '../../test/support/trace-collector.js';
import { openLog } from './log.js';
import { METRICS } from './metrics.js';
import { SPAN_KIND, SpanExporter, type Span } from './span-exporter.js';

const log = openLog('error', openSync('/dev/null', 'w')).logger;
const span = (number: number): Span => ({
  traceId: 'a'.repeat(32),
  spanId: (number + 1).toString(16).padStart(16, '0'),
  parentId: '',
  name: 'GET /customers',
  kind: SPAN_KIND.server,
  startMs: 1_790_000_000_000.25,
  endMs: 1_790_000_000_001,
  isError: false,
  attributes: { 'http.response.status_code': 200, 'http.route': undefined },
});
const spans = (count: number): Span[] => Array.from({ length: count }, (_, number) => span(number));

let collector: TraceCollector;
let exporter: SpanExporter;
let before: readonly number[];
const counts = () => [METRICS.traceSpans.series('exported').value, METRICS.traceSpans.series('dropped').value];
/** Spans exported and dropped in this test. */
const counted = () => counts().map((count, index) => count - (before[index] ?? 0));

beforeEach(async () => {
  collector = await startTraceCollector();
  exporter = new SpanExporter({ endpoint: `${collector.url}/`, headers: {}, serviceName: 'gateway' }, log);
  before = counts();
});
afterEach(async () => {
  await exporter.stop();
  await collector.stop();
});

it('exports every span once, in several exports if there are many', async () => {
  exporter.add(spans(2_500));
  await Promise.all([exporter.flush(), exporter.flush()]);
  expect(collector.complaints).toEqual([]);
  expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(2_500);
  expect([collector.spans.length, collector.exports, counted()]).toEqual([2_500, 3, [2_500, 0]]);
  expect(collector.spans[0]).toMatchObject({
    startTimeUnixNano: '1790000000000250000',
    attributes: [{ key: 'http.response.status_code', value: { intValue: '200' } }],
  });
});

it.each([429, 502, 503, 504])(
  'keeps spans that the collector answers with %i, and exports them later',
  async (status) => {
    collector.answer = { status, body: '' };
    exporter.add(spans(3));
    await exporter.flush();
    collector.answer = { status: 200, body: '' };
    await exporter.flush();
    expect([collector.spans.length, counted()]).toEqual([3, [3, 0]]);
  },
);

it.each([400, 401, 404, 500])('drops and counts spans that the collector answers with %i', async (status) => {
  collector.answer = { status, body: '' };
  exporter.add(spans(3));
  await exporter.flush();
  await exporter.flush();
  expect([collector.exports, counted()]).toEqual([1, [0, 3]]);
});

it('counts spans that a successful export rejects', async () => {
  collector.answer = { status: 200, body: '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}' };
  exporter.add(spans(3));
  await exporter.flush();
  expect(counted()).toEqual([1, 2]);
});

it('keeps at most 8,192 spans, and counts the rest as dropped', async () => {
  await collector.stop();
  for (let request = 0; request < 3_000; request++) exporter.add(spans(4));
  expect(counted()).toEqual([0, 12_000 - 8_192]);
  await exporter.stop();
  expect(counted()).toEqual([0, 12_000]);
});

it('ends within its deadline while the collector does not respond', async () => {
  collector.answer = { status: 0, body: '' };
  exporter.add(spans(3));
  const startedMs = performance.now();
  await exporter.stop();
  expect(performance.now() - startedMs).toBeLessThan(7_000);
  expect(counted()).toEqual([0, 3]);
}, 15_000);
