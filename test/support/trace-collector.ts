/** A trace collector for OTLP over HTTP as JSON. It records requests that do not match the protocol as complaints. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

const attribute = z.strictObject({
  key: z.string().min(1),
  value: z.union([
    z.strictObject({ stringValue: z.string() }),
    z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }),
  ]),
});
const nanos = z.string().regex(/^\d{19}$/);
const scope = z.strictObject({ name: z.literal('trailgate'), version: z.string().min(1) });
const span = z
  .strictObject({
    traceId: z.string().regex(/^(?!0+$)[0-9a-f]{32}$/),
    spanId: z.string().regex(/^(?!0+$)[0-9a-f]{16}$/),
    parentSpanId: z
      .string()
      .regex(/^(?!0+$)[0-9a-f]{16}$/)
      .optional(),
    name: z.string().min(1),
    kind: z.int().min(1).max(5),
    startTimeUnixNano: nanos,
    endTimeUnixNano: nanos,
    attributes: z.array(attribute),
    status: z.strictObject({ code: z.int().min(0).max(2).optional() }),
  })
  .refine(({ startTimeUnixNano: start, endTimeUnixNano: end }) => BigInt(start) <= BigInt(end));
const exportRequest = z.strictObject({
  resourceSpans: z
    .array(
      z.strictObject({
        resource: z.strictObject({ attributes: z.array(attribute) }),
        scopeSpans: z.array(z.strictObject({ scope, spans: z.array(span).min(1) })).length(1),
      }),
    )
    .length(1),
});

export type CollectedSpan = z.output<typeof span>;

export interface TraceCollector {
  readonly url: string;
  /** All accepted spans so far. */
  readonly spans: CollectedSpan[];
  /** Requests and fields so far that do not match the protocol. */
  readonly complaints: string[];
  /** Number of exports that have arrived. */
  exports: number;
  /** Header fields of the last export. */
  headers: IncomingHttpHeaders;
  /** Response to the next exports. With status 0, the collector does not respond. */
  answer: { status: number; body: string };
  stop(): Promise<void>;
}

/** Starts a collector. The caller must stop it. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request)) as unknown;
    collector.exports++;
    collector.headers = request.headers;
    const { status, body: answer } = collector.answer;
    if (status === 0) return;
    const { method, url, headers } = request;
    const head = `${method} ${url} ${headers['content-type']}`;
    if (head !== 'POST /v1/traces application/json') collector.complaints.push(head);
    const parsed = exportRequest.safeParse(body);
    if (!parsed.success) collector.complaints.push(parsed.error.message);
    else if (status === 200) {
      collector.spans.push(...parsed.data.resourceSpans.flatMap((one) => one.scopeSpans[0]?.spans ?? []));
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end(answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const collector: TraceCollector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    complaints: [],
    exports: 0,
    headers: {},
    answer: { status: 200, body: '{}' },
    stop: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
  return collector;
}
