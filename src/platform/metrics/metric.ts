/**
 * Counters, gauges and histograms with their labels and series. A counter with known label values starts at 0, so that
 * Prometheus sees its first event as an increase.
 */
import {
  labelText,
  type Exemplar,
  type Family,
  type Kind,
  type ObservedTrace,
  type Series as ReadSeries,
} from './family.js';
import { NativeBuckets } from './native-buckets.js';

/** Maximum series per metric. Further ones are counted as `other`, so that a mistake cannot fill the memory. */
export const LARGEST_METRIC = 5_000;
/** Maximum lines of all metrics. A histogram series has one line per bucket and two more. */
const MAX_LINES = 100_000;

/**
 * Source of a label's values: a list; `config` for names in the configuration, which are announced with `begin`; or
 * `open` for anything else.
 */
export type LabelValues = readonly (string | number)[] | 'config' | 'open';
export type Label = readonly [name: string, values: LabelValues];
type ValueOf<One> = One extends readonly [string, infer Values]
  ? Values extends readonly (infer Each)[]
    ? Each
    : string | number
  : never;
/** Arguments of `series`. Values that are not in the list do not compile. */
export type ValuesOf<Labels extends readonly Label[]> = { readonly [Index in keyof Labels]: ValueOf<Labels[Index]> };

export class ValueSeries {
  value = 0;

  constructor(readonly labels: string) {}

  inc(by = 1): void {
    this.value += by;
  }

  set(value: number): void {
    this.value = value;
  }

  read(): ReadSeries {
    return { labels: this.labels, value: Number.isNaN(this.value) ? null : this.value };
  }
}

export class HistogramSeries {
  private readonly counts: Float64Array;
  private readonly native = new NativeBuckets();
  /** Latest exemplar of each bucket. Undefined without any. */
  private exemplars: (Exemplar | null)[] | undefined;
  private sum = 0;

  constructor(
    readonly labels: string,
    readonly bounds: readonly number[],
  ) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** @param trace undefined if no trace of the request is exported */
  observe(value: number, trace?: ObservedTrace): void {
    const index = this.bucketOf(value);
    this.counts[index] = (this.counts[index] ?? 0) + 1;
    this.sum += value;
    this.native.observe(value);
    if (trace === undefined) return;
    this.exemplars ??= Array.from(this.counts, () => null);
    this.exemplars[index] = { ...trace, value };
  }

  read(): ReadSeries {
    const { labels, bounds, sum, exemplars } = this;
    const histogram = { bounds, counts: [...this.counts], sum, native: this.native.read() };
    return {
      labels,
      value: 0,
      histogram: exemplars === undefined ? histogram : { ...histogram, exemplars: [...exemplars] },
    };
  }

  private bucketOf(value: number): number {
    let index = 0;
    while (index < this.bounds.length && value > (this.bounds[index] ?? Infinity)) index++;
    return index;
  }
}

export interface MetricDescription<Series, Labels extends readonly Label[]> {
  readonly name: string;
  readonly kind: Kind;
  readonly help: string;
  readonly labels: Labels;
  /** Whether a combination of label values can occur. All can by default. */
  readonly isPossible?: (values: readonly string[]) => boolean;
  readonly create: (labels: string) => Series;
  /** Number of output lines per series. */
  readonly lines?: number;
}

/** Limit for the lines of several metrics, and the number in use. */
export class LineBudget {
  used = 0;

  constructor(readonly maxLines: number) {}
}

/** Shared by all metrics of this process. */
const PROCESS_LINES = new LineBudget(MAX_LINES);

export class Metric<
  Series extends ValueSeries | HistogramSeries,
  const Labels extends readonly Label[] = readonly Label[],
> {
  readonly name: string;
  readonly kind: Kind;
  readonly help: string;
  readonly labelNames: readonly string[];
  private readonly all = new Map<string, Series>();
  /** Number of `begin` calls per series. Series without an entry are permanent. */
  private readonly owners = new Map<string, number>();
  private other: Series | undefined;

  constructor(
    readonly description: MetricDescription<Series, Labels>,
    private readonly budget = PROCESS_LINES,
  ) {
    const { name, kind, help, labels } = description;
    this.name = name;
    this.kind = kind;
    this.help = help;
    this.labelNames = labels.map(([label]) => label);
    // A gauge at 0 is a statement, so its owner creates the series.
    if (kind !== 'gauge' && labels.every(([, values]) => typeof values !== 'string')) this.begin({});
  }

  /** Value sources of the labels, in order. */
  get labelValues(): readonly LabelValues[] {
    return this.description.labels.map(([, values]) => values);
  }

  /**
   * Returns the series with these label values, in the order of `labelNames`. Callers should keep it if they count
   * often. If the metric or the process has reached its limit, returns the series whose labels are all `other`.
   */
  series(...values: ValuesOf<Labels>): Series {
    const labels = this.labelText(values as readonly (string | number)[]);
    let series = this.all.get(labels);
    if (series === undefined) {
      if (!this.hasRoom) return this.overflow();
      series = this.description.create(labels);
      this.all.set(labels, series);
      this.budget.used += this.lines;
    }
    return series;
  }

  /**
   * Creates all series with these label values at 0. Labels with a list take every value of it. Call `end` with the
   * same values when the labeled object is gone.
   */
  begin(known: Readonly<Record<string, string>>): void {
    for (const values of this.combinations(known)) {
      this.series(...(values as unknown as ValuesOf<Labels>));
      const labels = this.labelText(values);
      if (this.all.has(labels)) this.owners.set(labels, (this.owners.get(labels) ?? 0) + 1);
    }
  }

  /** Deletes the series that `begin` created with these values, unless another `begin` is still in effect. */
  end(known: Readonly<Record<string, string>>): void {
    for (const values of this.combinations(known)) {
      const labels = this.labelText(values);
      const owners = this.owners.get(labels) ?? 0;
      if (owners > 1) this.owners.set(labels, owners - 1);
      else if (owners === 1) this.deleteSeries(labels);
    }
  }

  /** Replaces all series by these. For metrics that show the top few of many. */
  show(this: Metric<ValueSeries, Labels>, rows: readonly (readonly [values: ValuesOf<Labels>, value: number])[]): void {
    for (const labels of this.all.keys()) this.deleteSeries(labels);
    for (const [values, value] of rows) this.series(...values).set(value);
  }

  /** Returns the metric with the values of all its series. */
  read(): Family {
    const { name, kind, help } = this;
    const all = this.other === undefined ? [...this.all.values()] : [...this.all.values(), this.other];
    return { name, kind, help, series: all.map((series) => series.read()) };
  }

  private get hasRoom(): boolean {
    return this.all.size < LARGEST_METRIC && this.budget.used + this.lines <= this.budget.maxLines;
  }

  private get lines(): number {
    return this.description.lines ?? 1;
  }

  private labelText(values: readonly (string | number)[]): string {
    return labelText(this.labelNames.map((name, index) => [name, values[index] ?? ''] as const));
  }

  /** Returns all possible combinations of label values that include the known ones. */
  private combinations(known: Readonly<Record<string, string>>): readonly (readonly string[])[] {
    const { labels, isPossible = () => true } = this.description;
    const lists = labels.map(([name, values]) =>
      typeof values === 'string' ? [known[name] ?? ''] : known[name] === undefined ? values.map(String) : [known[name]],
    );
    const none: readonly (readonly string[])[] = [[]];
    const all = lists.reduce((rows, list) => rows.flatMap((row) => list.map((value) => [...row, value])), none);
    return all.filter((values) => isPossible(values));
  }

  private deleteSeries(labels: string): void {
    this.owners.delete(labels);
    if (this.all.delete(labels)) this.budget.used -= this.lines;
  }

  private overflow(): Series {
    this.other ??= this.description.create(this.labelNames.map((name) => `${name}="other"`).join());
    return this.other;
  }
}

/**
 * Creates a counter, which only increases.
 * @param isPossible whether a combination of label values can occur. All can by default.
 */
export function counter<const Labels extends readonly Label[]>(
  name: string,
  help: string,
  labels: Labels,
  isPossible?: (values: readonly string[]) => boolean,
): Metric<ValueSeries, Labels> {
  const create = (text: string): ValueSeries => new ValueSeries(text);
  return new Metric({
    name,
    kind: 'counter',
    help,
    labels,
    create,
    ...(isPossible === undefined ? {} : { isPossible }),
  });
}

export function gauge<const Labels extends readonly Label[]>(
  name: string,
  help: string,
  labels: Labels,
): Metric<ValueSeries, Labels> {
  return new Metric({ name, kind: 'gauge', help, labels, create: (text) => new ValueSeries(text) });
}

/**
 * Creates a histogram.
 * @param bounds upper bounds of the buckets, ascending.
 */
export function histogram<const Labels extends readonly Label[]>(
  name: string,
  help: string,
  bounds: readonly number[],
  labels: Labels,
): Metric<HistogramSeries, Labels> {
  const create = (text: string): HistogramSeries => new HistogramSeries(text, bounds);
  return new Metric({ name, kind: 'histogram', help, labels, create, lines: bounds.length + 3 });
}
