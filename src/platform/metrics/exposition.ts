/**
 * Formats of a scrape: Prometheus text 0.0.4, OpenMetrics 1.0.0 with exemplars, and Prometheus's protocol buffers with
 * exemplars and native histograms.
 */
import type { Exemplar, Family, Histogram, Kind, Series } from './family.js';
import { familyMessage } from './family-message.js';

export interface Exposition {
  readonly contentType: string;
  readonly format: (family: Family) => Uint8Array;
  /** Last line. */
  readonly end: string;
}

export const TEXT: Exposition = {
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  format: (family) => Buffer.from(textOf(family)),
  end: '',
};
export const OPEN_METRICS: Exposition = {
  contentType: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  format: (family) => Buffer.from(openMetricsOf(family)),
  end: '# EOF\n',
};
export const PROTOBUF: Exposition = {
  contentType: 'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited',
  format: familyMessage,
  end: '',
};

/** Returns a family in Prometheus text format 0.0.4. */
export function textOf({ name, kind, help, series }: Family): string {
  const lines = head(name, kind, help);
  for (const one of series) {
    if (one.histogram === undefined) lines.push(valueLine(name, one));
    else lines.push(...histogramLines(name, one.labels, one.histogram, String));
  }
  return `${lines.join('\n')}\n`;
}

/** Returns a family in OpenMetrics 1.0.0. A counter's family is named without `_total`. */
function openMetricsOf({ name, kind, help, series }: Family): string {
  const lines = kind === 'counter' ? head(name.replace(/_total$/, ''), kind, help) : head(name, kind, help);
  for (const one of series) {
    if (one.histogram === undefined) lines.push(valueLine(name, one));
    else lines.push(...histogramLines(name, one.labels, one.histogram, canonicalFloat, one.histogram.exemplars));
  }
  return `${lines.join('\n')}\n`;
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
  const lines = counts.map((count, index) => {
    total += count;
    const le = index < bounds.length ? bound(bounds[index] ?? 0) : '+Inf';
    return `${name}_bucket{${prefix}le="${le}"} ${total}${exemplarText(exemplars?.[index])}`;
  });
  return [...lines, `${name}_sum${braces} ${sum}`, `${name}_count${braces} ${total}`];
}

function exemplarText(exemplar: Exemplar | null | undefined): string {
  if (exemplar === null || exemplar === undefined) return '';
  return ` # {trace_id="${exemplar.traceId}"} ${exemplar.value} ${exemplar.timeMs / 1_000}`;
}

/** Returns a number as OpenMetrics has it in `le`: integers with `.0`. */
function canonicalFloat(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}
