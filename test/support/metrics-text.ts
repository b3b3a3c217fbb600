/** Strict parser of Prometheus's text format (version 0.0.4). Rejects everything that could confuse a scraper. */
import { readFileSync } from 'node:fs';
import { send } from './http.js';

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
// Prometheus's client writes `Nan` for the mean of no values. Prometheus accepts it in any letter case.
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (-?(?:\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?)|N[Aa][Nn]|[+-]Inf)$`);
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/;

export interface MetricFamily {
  readonly type: string;
  readonly help: string;
  /** Value by series, in the written form `name{label="value"}`. */
  readonly samples: Map<string, number>;
}

/**
 * Returns all metric families by name.
 * @throws Error if the text violates a rule of the format
 */
export function parseMetrics(text: string): Map<string, MetricFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end with a line break');
  const families = new Map<string, MetricFamily>();
  let help: RegExpExecArray | null = null;
  let current = '';
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const asHelp = new RegExp(`^# HELP (${NAME}) (\\S.*)$`).exec(line);
    const asType = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram|summary)$`).exec(line);
    if (asHelp !== null) {
      help = asHelp;
    } else if (asType !== null) {
      const [, name = '', type = ''] = asType;
      if (help?.[1] !== name) throw new Error(`${name} has TYPE without HELP before it`);
      if (families.has(name)) throw new Error(`duplicate metric ${name}`);
      families.set(name, { type, help: help[2] ?? '', samples: new Map() });
      current = name;
    } else {
      addSample(line, current, families.get(current));
    }
  }
  for (const [name, family] of families) if (family.type === 'histogram') checkHistogram(name, family);
  return families;
}

function addSample(line: string, familyName: string, family: MetricFamily | undefined): void {
  const match = SAMPLE.exec(line);
  if (match === null || family === undefined) throw new Error(`not a sample: ${line}`);
  const [, name = '', labels = '', value = ''] = match;
  const suffix = name.slice(familyName.length);
  const suffixes = family.type === 'histogram' || family.type === 'summary' ? ['_bucket', '_sum', '_count', ''] : [''];
  if (!name.startsWith(familyName) || !suffixes.includes(suffix))
    throw new Error(`${name} does not belong to ${familyName}`);
  if (family.type === 'counter' && !familyName.endsWith('_total'))
    throw new Error(`${familyName} is a counter without _total`);
  const names = labelsOf(labels).map(([label]) => label);
  if (new Set(names).size !== names.length) throw new Error(`duplicate label: ${line}`);
  const series = labels === '' ? name : `${name}{${labels}}`;
  if (family.samples.has(series)) throw new Error(`duplicate series: ${line}`);
  family.samples.set(series, Number(value.replace('Inf', 'Infinity')));
}

/** Returns the label names and values. Does not unescape the values. */
export function labelsOf(text: string): [string, string][] {
  const labels: [string, string][] = [];
  for (let rest = text; rest !== '';) {
    const match = LABEL.exec(rest);
    if (match === null) throw new Error(`invalid labels: ${text}`);
    labels.push([match[1] ?? '', match[2] ?? '']);
    rest = rest.slice(match[0].length);
  }
  return labels;
}

/** Checks that the buckets never decrease, and that the +Inf bucket equals the count. */
function checkHistogram(name: string, { samples }: MetricFamily): void {
  const buckets = new Map<string, number[]>();
  for (const [series, value] of samples) {
    if (!series.startsWith(`${name}_bucket{`)) continue;
    const labels = labelsOf(series.slice(name.length + '_bucket{'.length, -1)).filter(([label]) => label !== 'le');
    const rest = labels.map(([label, text]) => `${label}="${text}"`).join();
    const counts = buckets.get(rest) ?? [];
    if (value < (counts.at(-1) ?? 0)) throw new Error(`a bucket is smaller than the one before: ${series}`);
    counts.push(value);
    buckets.set(rest, counts);
    if (!series.includes('le="+Inf"')) continue;
    const count = samples.get(rest === '' ? `${name}_count` : `${name}_count{${rest}}`);
    if (count !== value) throw new Error(`${series} is ${value}, the count is ${count}`);
  }
}

/** Returns the value by series, over all families. */
export function seriesOf(text: string): Map<string, number> {
  return new Map([...parseMetrics(text).values()].flatMap(({ samples }) => [...samples]));
}

/**
 * Returns the number of requests that a program has counted, over all series.
 * @param adminUrl origin of the program's admin listener
 */
export async function countRequests(adminUrl: string): Promise<number> {
  const series = seriesOf((await send(`${adminUrl}/metrics`)).text);
  const counts = [...series].filter(([name]) => name.startsWith('http_server_request_duration_seconds_count'));
  return counts.reduce((sum, [, count]) => sum + count, 0);
}

/** Returns the resident memory of a process in bytes, as the kernel reports it. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kilobytes === undefined) throw new Error(`no VmRSS for process ${pid}`);
  return Number(kilobytes) * 1024;
}
