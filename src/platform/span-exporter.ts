/**
 * Exports trace spans with OTLP over HTTP, as JSON (OpenTelemetry Protocol 1.x). Spans wait in a buffer of limited
 * size, so that a slow or missing collector costs requests neither memory nor time.
 */
import type { Logger } from './log.js';
import { METRICS } from './metrics.js';
import { RareWarning } from './rare-warning.js';
import { VERSION } from './version.js';

const EXPORT_INTERVAL_MS = 1_000;
const EXPORT_TIMEOUT_MS = 5_000;
/** Time for the last export at shutdown. Usage is written after that export. */
const STOP_TIMEOUT_MS = 1_000;
const MAX_WAITING_SPANS = 8_192;
const MAX_SPANS_PER_EXPORT = 1_024;
/** Statuses after which an exporter retries (OTLP specification, "Retryable Response Codes"). */
const RETRYABLE = [429, 502, 503, 504];

/** Kinds of spans in OTLP. */
export const SPAN_KIND = { internal: 1, server: 2, client: 3 } as const;

export interface Span {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** 16 hex digits. Empty for a root span. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: (typeof SPAN_KIND)[keyof typeof SPAN_KIND];
  /** Milliseconds since the Unix epoch, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly isError: boolean;
  /** Attributes without a value are omitted. */
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
}

export interface SpanExporterOptions {
  /** Base URL of the collector. The exporter appends `/v1/traces`. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
}

export class SpanExporter {
  private waiting: Span[] = [];
  private running: Promise<boolean> | undefined;
  private readonly url: string;
  private readonly resource: object;
  private readonly failures: RareWarning;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly options: SpanExporterOptions,
    log: Logger,
  ) {
    this.url = `${options.endpoint.replace(/\/$/, '')}/v1/traces`;
    this.resource = {
      attributes: attributesOf({
        'service.name': options.serviceName,
        'service.version': VERSION,
        'process.pid': process.pid,
      }),
    };
    this.failures = new RareWarning(log);
    this.timer = setInterval(() => void this.flush(), EXPORT_INTERVAL_MS).unref();
  }

  /** Queues the spans of a request. Drops and counts all of them if the buffer has no space. */
  add(spans: readonly Span[]): void {
    if (this.waiting.length + spans.length > MAX_WAITING_SPANS) drop(spans.length);
    else this.waiting.push(...spans);
  }

  /** Exports the waiting spans, until none are left or an export fails. Never rejects. */
  async flush(): Promise<void> {
    while (this.waiting.length > 0) {
      this.running ??= this.exportBatch().finally(() => (this.running = undefined));
      if (!(await this.running)) return;
    }
  }

  /** Exports the last spans, within a second. Drops and counts the spans that the collector does not accept. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, STOP_TIMEOUT_MS)));
    await Promise.race([this.flush(), late]);
    clearTimeout(timer);
    drop(this.waiting.splice(0).length);
  }

  /**
   * Exports one batch. Keeps the batch for another attempt if the collector is unavailable or busy. Reports whether to
   * continue.
   */
  private async exportBatch(): Promise<boolean> {
    const batch = this.waiting.slice(0, MAX_SPANS_PER_EXPORT);
    try {
      const response = await fetch(this.url, {
        method: 'POST',
        headers: { ...this.options.headers, 'content-type': 'application/json' },
        body: JSON.stringify(this.requestOf(batch)),
        redirect: 'manual',
        signal: AbortSignal.timeout(EXPORT_TIMEOUT_MS),
      });
      const text = await response.text();
      if (RETRYABLE.includes(response.status)) return this.fail(`status ${response.status}`);
      this.waiting.splice(0, batch.length);
      const rejected = response.ok ? rejectedOf(text) : batch.length;
      drop(rejected);
      METRICS.traceSpans.series('exported').inc(batch.length - rejected);
      if (rejected > 0) this.fail(response.ok ? 'the collector rejected spans' : `status ${response.status}`);
      return true;
    } catch (error) {
      const { name, cause } = error as Error & { readonly cause?: { readonly code?: string } };
      return this.fail(cause?.code ?? name);
    }
  }

  private fail(reason: string): false {
    const waiting = this.waiting.length;
    this.failures.warn({ event: 'spans_not_exported', reason, waiting }, 'The collector does not take spans');
    return false;
  }

  private requestOf(batch: readonly Span[]): object {
    const scope = { name: 'trailgate', version: VERSION };
    return { resourceSpans: [{ resource: this.resource, scopeSpans: [{ scope, spans: batch.map(spanOf) }] }] };
  }
}

function drop(spans: number): void {
  METRICS.traceSpans.series('dropped').inc(spans);
}

/** Converts a span to the JSON encoding of OTLP, in which 64-bit integers are strings. */
function spanOf({ traceId, spanId, parentId, name, kind, startMs, endMs, isError, attributes }: Span): object {
  return {
    traceId,
    spanId,
    ...(parentId === '' ? {} : { parentSpanId: parentId }),
    name,
    kind,
    startTimeUnixNano: nanosOf(startMs),
    endTimeUnixNano: nanosOf(endMs),
    attributes: attributesOf(attributes),
    status: isError ? { code: 2 } : {},
  };
}

function attributesOf(attributes: Span['attributes']): object[] {
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (value === undefined) return [];
    return [{ key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }];
  });
}

/**
 * Returns nanoseconds, rounded to microseconds. The clock is no more precise, and a JavaScript number represents
 * microseconds exactly.
 */
function nanosOf(ms: number): string {
  return `${Math.round(ms * 1_000)}000`;
}

/** Returns the number of rejected spans that a successful response reports (`partialSuccess`). */
function rejectedOf(text: string): number {
  return Number(/"rejectedSpans"\s*:\s*"?(\d+)/.exec(text)?.[1] ?? 0);
}
