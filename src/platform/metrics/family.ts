/** Defines metrics as plain JSON data, which can be merged across the processes of a node and written in any format. */

export type Kind = 'counter' | 'gauge' | 'histogram';

export interface Family {
  readonly name: string;
  readonly kind: Kind;
  readonly help: string;
  readonly series: readonly Series[];
}

export interface Series {
  /** Labels as in the text format, without braces: `a="b",c="d"`. Empty without labels. */
  readonly labels: string;
  /** Value of a counter or gauge. Null stands for NaN, which JSON cannot represent. 0 for a histogram. */
  readonly value: number | null;
  readonly histogram?: Histogram;
}

export interface Histogram {
  /** Upper bounds of the buckets, ascending. */
  readonly bounds: readonly number[];
  /** Observations by bucket, not cumulative. The last bucket has no upper bound. */
  readonly counts: readonly number[];
  readonly sum: number;
  /** Buckets of a native histogram. Undefined if another library counted the observations. */
  readonly native?: NativeHistogram;
  /** Latest exemplar of each bucket. */
  readonly exemplars?: readonly (Exemplar | null)[];
}

/**
 * NativeHistogram has the exponential buckets of a Prometheus native histogram (schema 3). Bucket `i` ends at 2^(i/8),
 * inclusive. `counts[0]` belongs to bucket `first`.
 */
export interface NativeHistogram {
  readonly zero: number;
  readonly first: number;
  readonly counts: readonly number[];
}

/** ObservedTrace identifies the exported trace of an observed request. */
export interface ObservedTrace {
  readonly traceId: string;
  /** End of the request in milliseconds since the Unix epoch. */
  readonly timeMs: number;
}

/** Exemplar is an observation with its trace. */
export interface Exemplar extends ObservedTrace {
  readonly value: number;
}

/** Returns labels in the text format. */
export function labelText(labels: readonly (readonly [name: string, value: string | number])[]): string {
  return labels.map(([name, value]) => `${name}="${escapeLabel(String(value))}"`).join();
}

const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Returns the names and values of labels in the text format. */
export function labelPairs(text: string): [name: string, value: string][] {
  return Array.from(text.matchAll(LABEL), ([, name = '', value = '']) => [name, unescapeLabel(value)]);
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function unescapeLabel(value: string): string {
  return value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}
