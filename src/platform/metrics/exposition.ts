/**
 * Writes metrics in the formats of a scrape: Prometheus text 0.0.4, OpenMetrics 1.0.0 with exemplars, and Prometheus's
 * protocol buffers with exemplars and native histograms.
 */
import type { Exemplar, Family, Histogram, Kind, Series } from './family.js';
import { familyHead, lengthPrefix, metricMessage } from './family-message.js';

/**
 * Exposition writes metrics in one format. It writes the head and the series of a family separately, so that a large
 * family can be written in steps.
 */
export interface Exposition {
  readonly contentType: string;
  readonly head: (family: Family) => Uint8Array;
  readonly series: (series: Series, family: Family) => Uint8Array;
  /** Returns the bytes before a family of this length. */
  readonly prefix: (length: number) => Uint8Array;
  /** Text after the last family. Empty if the format requires none. */
  readonly end: string;
}

const NO_BYTES = new Uint8Array();

/** Prometheus text format 0.0.4. */
export const TEXT: Exposition = {
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  head: ({ name, kind, help }) => lines(head(name, kind, help)),
  series: (series, { name }) => lines(seriesLines(name, series, String)),
  prefix: () => NO_BYTES,
  end: '',
};

/** OpenMetrics 1.0.0. A counter's family is named without `_total`. */
export const OPEN_METRICS: Exposition = {
  contentType: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  head: ({ name, kind, help }) => lines(head(kind === 'counter' ? name.replace(/_total$/, '') : name, kind, help)),
  series: (series, { name }) => lines(seriesLines(name, series, canonicalFloat, series.histogram?.exemplars)),
  prefix: () => NO_BYTES,
  end: '# EOF\n',
};

export const PROTOBUF: Exposition = {
  contentType: 'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited',
  head: familyHead,
  series: metricMessage,
  prefix: lengthPrefix,
  end: '',
};

/** Returns a family in Prometheus text format 0.0.4. */
export function textOf(family: Family): string {
  return Buffer.concat([TEXT.head(family), ...family.series.map((one) => TEXT.series(one, family))]).toString();
}

function lines(texts: readonly string[]): Uint8Array {
  return Buffer.from(`${texts.join('\n')}\n`);
}

function seriesLines(
  name: string,
  series: Series,
  bound: (value: number) => string,
  exemplars?: readonly (Exemplar | null)[],
): string[] {
  const { labels, histogram } = series;
  return histogram === undefined
    ? [valueLine(name, series)]
    : histogramLines(name, labels, histogram, bound, exemplars);
}

function head(name: string, kind: Kind, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`];
}

function valueLine(name: string, { labels, value }: Series): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${value ?? 'NaN'}`;
}

function histogramLines(
  name: string,
  labels: string,
  { bounds, counts, sum }: Histogram,
  bound: (value: number) => string,
  exemplars?: readonly (Exemplar | null)[],
): string[] {
  const prefix = labels === '' ? '' : `${labels},`;
  const braces = labels === '' ? '' : `{${labels}}`;
  let total = 0;
  const buckets = counts.map((count, index) => {
    total += count;
    const le = index < bounds.length ? bound(bounds[index] ?? 0) : '+Inf';
    return `${name}_bucket{${prefix}le="${le}"} ${total}${exemplarText(exemplars?.[index])}`;
  });
  return [...buckets, `${name}_sum${braces} ${sum}`, `${name}_count${braces} ${total}`];
}

function exemplarText(exemplar: Exemplar | null | undefined): string {
  if (exemplar === null || exemplar === undefined) return '';
  return ` # {trace_id="${exemplar.traceId}"} ${exemplar.value} ${exemplar.timeMs / 1_000}`;
}

/** Formats a bucket bound for the label `le` of OpenMetrics, in which integers end with `.0`. */
function canonicalFloat(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}
