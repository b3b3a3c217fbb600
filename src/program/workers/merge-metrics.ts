/**
 * Metrics of several processes as one: counters and histograms are added up, gauges by what they say.
 * What a process that has ended had counted stays in the sums, or every restart would look like a reset
 * to Prometheus and then like a burst.
 */

interface Family {
  readonly head: string[];
  readonly kind: string;
  /** By name and labels, as on the line. */
  readonly values: Map<string, number>;
}

/**
 * Gauges, by name and labels, of which the highest says it: what is the same everywhere, what the slowest process
 * decides, and how many addresses of a target the worst-off process sees out of service.
 */
const HIGHEST = new RegExp(
  `^(${[
    /trailgate_build_info|trailgate_config_refused|trailgate_quota_nodes|nodejs_eventloop|process_start_time_seconds/,
    /trailgate_webhook_oldest_due_seconds|trailgate_key_staleness_seconds|\w*_lag_seconds|\w*_version_info/,
    /trailgate_upstream_targets\{.*state="(failing|ejected|unhealthy)"/,
  ]
    .map(({ source }) => source)
    .join('|')})`,
);
/** Gauges of which the lowest says it: up, in force and in service only as far as it is so everywhere. */
const LOWEST = /^(\w*_up|\w*_timestamp_seconds|trailgate_upstream_targets)(\{|$)/;

/** Gauges of an instant that are 0 where there was none: the earliest says it. */
const EARLIEST = /^trailgate_quota_store_lost_timestamp_seconds(\{|$)/;

/** Adds texts in Prometheus's format 0.0.4 up, family by family. */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, Family>();
  for (const text of texts) readInto(families, text);
  const lines = [...families.values()].flatMap(({ head, values }) => [
    ...head,
    ...[...values].map(([name, value]) => `${name} ${value}`),
  ]);
  return `${lines.join('\n')}\n`;
}

/** The part of a text that outlives its process: counters and histograms. */
export function lastingMetrics(text: string): string {
  const families = new Map<string, Family>();
  readInto(families, text);
  return [...families.values()]
    .filter(({ kind }) => kind === 'counter' || kind === 'histogram')
    .flatMap(({ head, values }) => [...head, ...[...values].map(([name, value]) => `${name} ${value}`)])
    .join('\n');
}

function readInto(families: Map<string, Family>, text: string): void {
  let family: Family | undefined;
  let help = '';
  for (const line of text.split('\n')) {
    if (line.startsWith('# HELP ')) {
      help = line;
    } else if (line.startsWith('# TYPE ')) {
      const [, , name = '', kind = ''] = line.split(' ');
      family = families.get(name);
      if (family === undefined) {
        family = { head: [help, line], kind, values: new Map() };
        families.set(name, family);
      }
    } else if (line !== '' && !line.startsWith('#')) {
      const end = line.lastIndexOf(' ');
      const series = line.slice(0, end);
      const value = Number(line.slice(end + 1));
      const before = family?.values.get(series);
      family?.values.set(series, before === undefined ? value : combined(series, family.kind, before, value));
    }
  }
}

function combined(series: string, kind: string, a: number, b: number): number {
  if (kind !== 'gauge') return a + b;
  // A mean of nothing says nothing.
  if (Number.isNaN(a)) return b;
  if (Number.isNaN(b)) return a;
  if (EARLIEST.test(series)) return a === 0 || b === 0 ? Math.max(a, b) : Math.min(a, b);
  if (HIGHEST.test(series)) return Math.max(a, b);
  return LOWEST.test(series) ? Math.min(a, b) : a + b;
}
