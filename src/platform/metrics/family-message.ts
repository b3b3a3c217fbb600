/**
 * Encodes families as messages of the type `io.prometheus.client.MetricFamily`, each preceded by its length (encoding
 * `delimited`). Comments name the fields of the schema (prometheus/client_model, metrics.proto).
 */
import { PbfWriter } from 'pbf';
import { labelPairs, type Exemplar, type Family, type Histogram, type NativeHistogram, type Series } from './family.js';
import { SCHEMA, ZERO_THRESHOLD } from './native-buckets.js';

/** Values of `MetricType`. */
const TYPES = { counter: 0, gauge: 1, histogram: 4 } as const;
/**
 * Maximum number of consecutive empty buckets that are written as zeros. A longer gap starts a new span, which takes
 * less space.
 */
const LONGEST_GAP = 2;

/** Returns the fields of a `MetricFamily` before its metrics. */
export function familyHead({ name, help, kind }: Family): Uint8Array {
  const message = new PbfWriter();
  message.writeStringField(1, name);
  message.writeStringField(2, help);
  message.writeVarintField(3, TYPES[kind]);
  return message.finish();
}

/** Returns a series as a `metric` field of a `MetricFamily`. */
export function metricMessage(series: Series, { kind }: Family): Uint8Array {
  const message = new PbfWriter();
  message.writeMessage(4, writeMetric, { series, kind });
  return message.finish();
}

/** Returns the length of a message as a varint, which precedes the message in the encoding `delimited`. */
export function lengthPrefix(length: number): Uint8Array {
  const prefix = new PbfWriter();
  prefix.writeVarint(length);
  return prefix.finish();
}

interface Metric {
  readonly series: Series;
  readonly kind: Family['kind'];
}

function writeMetric({ series, kind }: Metric, message: PbfWriter): void {
  for (const pair of labelPairs(series.labels)) message.writeMessage(1, writeLabel, pair);
  if (series.histogram !== undefined) message.writeMessage(7, writeHistogram, series.histogram);
  else message.writeMessage(kind === 'counter' ? 3 : 2, writeValue, series.value ?? NaN);
}

function writeLabel([name, value]: readonly [string, string], message: PbfWriter): void {
  message.writeStringField(1, name);
  message.writeStringField(2, value);
}

/** Writes a `Counter` or a `Gauge`. */
function writeValue(value: number, message: PbfWriter): void {
  message.writeDoubleField(1, value);
}

function writeHistogram({ bounds, counts, sum, native, exemplars }: Histogram, message: PbfWriter): void {
  const total = counts.reduce((a, b) => a + b, 0);
  message.writeVarintField(1, total); // sample_count
  message.writeDoubleField(2, sum); // sample_sum
  let cumulative = 0;
  for (const [index, count] of counts.entries()) {
    cumulative += count;
    const exemplar = exemplars?.[index] ?? undefined;
    message.writeMessage(3, writeBucket, { cumulative, bound: bounds[index] ?? Infinity, exemplar });
  }
  if (native !== undefined) writeNative(native, message);
}

interface Bucket {
  readonly cumulative: number;
  readonly bound: number;
  readonly exemplar: Exemplar | undefined;
}

function writeBucket({ cumulative, bound, exemplar }: Bucket, message: PbfWriter): void {
  message.writeVarintField(1, cumulative);
  message.writeDoubleField(2, bound);
  if (exemplar !== undefined) message.writeMessage(3, writeExemplar, exemplar);
}

function writeExemplar({ traceId, value, timeMs }: Exemplar, message: PbfWriter): void {
  message.writeMessage(1, writeLabel, ['trace_id', traceId] as const);
  message.writeDoubleField(2, value);
  message.writeMessage(3, writeTimestamp, timeMs);
}

/** Writes a `google.protobuf.Timestamp`. */
function writeTimestamp(timeMs: number, message: PbfWriter): void {
  message.writeVarintField(1, Math.floor(timeMs / 1_000));
  message.writeVarintField(2, Math.round((timeMs % 1_000) * 1e6));
}

function writeNative({ zero, first, counts }: NativeHistogram, message: PbfWriter): void {
  message.writeSVarintField(5, SCHEMA);
  message.writeDoubleField(6, ZERO_THRESHOLD);
  message.writeVarintField(7, zero);
  let end = 0;
  let before = 0;
  const spans = spansOf(first, counts);
  for (const { start, length } of spans) {
    message.writeMessage(12, writeSpan, { offset: start - end, length });
    end = start + length;
  }
  // A histogram without observations needs a span to be recognized as native.
  if (spans.length === 0) message.writeMessage(12, writeSpan, { offset: 0, length: 0 });
  for (const { start, length } of spans) {
    for (let index = start; index < start + length; index++) {
      const count = counts[index - first] ?? 0;
      message.writeSVarintField(13, count - before); // positive_delta
      before = count;
    }
  }
}

interface Span {
  readonly offset: number;
  readonly length: number;
}

function writeSpan({ offset, length }: Span, message: PbfWriter): void {
  message.writeSVarintField(1, offset);
  message.writeVarintField(2, length);
}

/** Returns the spans of buckets with observations. A span includes gaps of up to `LONGEST_GAP` empty buckets. */
function spansOf(first: number, counts: readonly number[]): { start: number; length: number }[] {
  const spans: { start: number; length: number }[] = [];
  for (const [at, count] of counts.entries()) {
    if (count === 0) continue;
    const index = first + at;
    const last = spans.at(-1);
    if (last !== undefined && index - (last.start + last.length) <= LONGEST_GAP) last.length = index - last.start + 1;
    else spans.push({ start: index, length: 1 });
  }
  return spans;
}
