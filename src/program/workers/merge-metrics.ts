/**
 * Merges the metrics of several processes. Counters and histograms are added. Gauges are merged by their meaning. The
 * counters of ended processes stay in the sums. Otherwise, Prometheus would see each restart as a reset and then a
 * burst.
 */

interface Family {
  readonly head: string[];
  readonly kind: string;
  /** Values by name and labels, as in the text. */
  readonly values: Map<string, number>;
}

/**
 * Gauges whose merged value is the maximum: those that are equal in all processes, and those for which the worst
 * process matters.
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
/** Gauges whose merged value is the minimum, because something is up or in effect only if it is in all processes. */
const LOWEST = /^(\w*_up|\w*_timestamp_seconds|trailgate_upstream_targets)(\{|$)/;

/** Gauges of a time, or 0 for none. The merged value is the earliest time. */
const EARLIEST = /^trailgate_quota_store_lost_timestamp_seconds(\{|$)/;

/** Merges texts in the Prometheus format 0.0.4 by metric family. */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, Family>();
  for (const text of texts) readInto(families, text);
  const lines = [...families.values()].flatMap(({ head, values }) => [
    ...head,
    ...[...values].map(([name, value]) => `${name} ${value}`),
  ]);
  return `${lines.join('\n')}\n`;
}

/** Returns the counters and histograms of a text, which are kept after the process has ended. */
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
  // NaN is a mean without samples.
  if (Number.isNaN(a)) return b;
  if (Number.isNaN(b)) return a;
  if (EARLIEST.test(series)) return a === 0 || b === 0 ? Math.max(a, b) : Math.min(a, b);
  if (HIGHEST.test(series)) return Math.max(a, b);
  return LOWEST.test(series) ? Math.min(a, b) : a + b;
}
