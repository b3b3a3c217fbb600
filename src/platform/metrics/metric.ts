/**
 * Implements counters, gauges and histograms with their labels and series. A counter with known label values starts at
 * 0, so that Prometheus sees its first event as an increase.
 */
import {
  labelText,
  type Exemplar,
  type Family,
  type Kind,
  type ObservedTrace,
  type Series as ReadSeries,
} from './family.js';
import { NativeBuckets, nativeIndexOf } from './native-buckets.js';

/** Maximum series per metric. Further series are counted as `other`, so that a mistake cannot fill the memory. */
export const LARGEST_METRIC = 5_000;
/** Maximum output lines of all metrics. A histogram series has one line per bucket and two more. */
const MAX_LINES = 100_000;

/**
 * LabelValues is a list of all values of a label, or their source. `config` is for names in the configuration, which
 * are announced with `begin`. `open` is for all other values.
 */
export type LabelValues = readonly (string | number)[] | 'config' | 'open';
export type Label = readonly [name: string, values: LabelValues];
type ValueOf<One> = One extends readonly [string, infer Values]
  ? Values extends readonly (infer Each)[]
    ? Each
    : string | number
  : never;
/** ValuesOf has the type of the arguments of `series`. Values that are not in a label's list do not compile. */
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

/** The value that is being counted. */
const observed = new Float64Array(1);

export class HistogramSeries {
  private readonly counts: Float64Array;
  private readonly native = new NativeBuckets();
  /** Latest exemplar of each bucket. Undefined if no observation had a trace. */
  private exemplars: (Exemplar | null)[] | undefined;
  private sum = 0;

  constructor(
    readonly labels: string,
    readonly bounds: readonly number[],
  ) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  /**
   * Counts a value. It is small, so V8 compiles it into its callers. The value goes on in an array of numbers, because a
   * function that is called would get it as an object on the heap.
   * @param trace undefined if no trace of the request is exported
   */
  observe(value: number, trace?: ObservedTrace): void {
    observed[0] = value;
    this.count(trace);
  }

  private count(trace: ObservedTrace | undefined): void {
    const value = observed[0] ?? 0;
    let index = 0;
    while (index < this.bounds.length && value > (this.bounds[index] ?? Infinity)) index++;
    this.counts[index] = (this.counts[index] ?? 0) + 1;
    this.sum += value;
    this.native.count(nativeIndexOf(value));
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
}

export interface MetricDescription<Series, Labels extends readonly Label[]> {
  readonly name: string;
  readonly kind: Kind;
  readonly help: string;
  readonly labels: Labels;
  /** Reports whether a combination of label values can occur. By default, all combinations can. */
  readonly isPossible?: (values: readonly string[]) => boolean;
  readonly create: (labels: string) => Series;
  /** Number of output lines per series. */
  readonly lines?: number;
}

/** LineBudget limits the output lines of several metrics, and counts the lines in use. */
export class LineBudget {
  used = 0;

  constructor(readonly maxLines: number) {}
}

/** Budget that all metrics of this process share. */
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
    // A gauge at 0 reports a measured value, so the code that measures the value creates the series.
    if (kind !== 'gauge' && labels.every(([, values]) => typeof values !== 'string')) this.begin({});
  }

  /** Value sources of the labels, in order. */
  get labelValues(): readonly LabelValues[] {
    return this.description.labels.map(([, values]) => values);
  }

  /**
   * Returns the series with these label values, in the order of `labelNames`. Callers that count often should keep the
   * series. If the metric or the process has reached its limit, returns the series whose labels are all `other`.
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
   * Creates all series with these label values at 0. A label with a list takes each value of the list. Call `end` with
   * the same values when the labeled object no longer exists.
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

  /** Replaces all series with the given rows. For metrics that show the largest few of many values. */
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

  /** Returns all possible combinations of label values that include the known values. */
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
 * @param isPossible reports whether a combination of label values can occur. By default, all combinations can.
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
