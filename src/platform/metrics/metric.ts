/**
 * What a metric is made of: its description, its labels with the values that are known beforehand, and its
 * series. A counter whose label values are known is there at 0 from the start: Prometheus sees the first
 * event as an increase, not as a birth.
 */

/** Most series of one metric; what comes after them is counted as `other`, so that a mistake cannot fill the memory. */
export const LARGEST_METRIC = 5_000;
/** Most lines of all metrics together: a histogram's series has one for each bucket and two more. */
const MOST_LINES = 100_000;

export type Kind = 'counter' | 'gauge' | 'histogram';

/**
 * Where the values of a label come from: a list; `config`, the names in the configuration, for which
 * `begin` is called; `open`, what happens.
 */
export type LabelValues = readonly (string | number)[] | 'config' | 'open';
export type Label = readonly [name: string, values: LabelValues];
type ValueOf<One> = One extends readonly [string, infer Values]
  ? Values extends readonly (infer Each)[]
    ? Each
    : string | number
  : never;
/** What `series` takes: a value that the list does not have does not compile. */
export type ValuesOf<Labels extends readonly Label[]> = { readonly [Index in keyof Labels]: ValueOf<Labels[Index]> };

/** A single number under fixed labels. */
export class ValueSeries {
  value = 0;

  constructor(readonly labels: string) {}

  inc(by = 1): void {
    this.value += by;
  }

  set(value: number): void {
    this.value = value;
  }
}

/** A histogram under fixed labels. */
export class HistogramSeries {
  readonly counts: Float64Array;
  sum = 0;

  constructor(
    readonly labels: string,
    readonly bounds: readonly number[],
  ) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let index = 0;
    while (index < this.bounds.length && value > (this.bounds[index] ?? Infinity)) index++;
    this.counts[index] = (this.counts[index] ?? 0) + 1;
    this.sum += value;
  }
}

/** What a metric is described by. */
export interface MetricDescription<Series, Labels extends readonly Label[]> {
  readonly name: string;
  readonly kind: Kind;
  readonly help: string;
  readonly labels: Labels;
  /** Whether label values can stand beside each other; all can unless said. */
  readonly isPossible?: (values: readonly string[]) => boolean;
  readonly create: (labels: string) => Series;
  /** Lines of one series in the text. */
  readonly lines?: number;
}

/** How many lines the metrics that share it may have together, and how many they have. */
export class LineBudget {
  used = 0;

  constructor(readonly most: number) {}
}

/** Shared by all metrics of this process. */
const PROCESS_LINES = new LineBudget(MOST_LINES);

/** A metric: its description and its series. */
export class Metric<
  Series extends ValueSeries | HistogramSeries,
  const Labels extends readonly Label[] = readonly Label[],
> {
  readonly name: string;
  readonly kind: Kind;
  readonly help: string;
  readonly labelNames: readonly string[];
  private readonly all = new Map<string, Series>();
  /** How many owners have begun a series; what nobody has begun is there for good. */
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
    // A gauge of 0 says something; whoever knows what it shows creates its series.
    if (kind !== 'gauge' && labels.every(([, values]) => typeof values !== 'string')) this.begin({});
  }

  /** How the values of each label are known, in their order. */
  get labelValues(): readonly LabelValues[] {
    return this.description.labels.map(([, values]) => values);
  }

  /**
   * The series of these label values, in the order of `labelNames`. Keep it where it is counted often. Where there are
   * `LARGEST_METRIC` of them already, or no lines are left: the one whose labels all say `other`.
   */
  series(...values: ValuesOf<Labels>): Series {
    const labels = this.textOf(values as readonly (string | number)[]);
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
   * Creates every series with these values at 0, whatever the labels say that have a list of their own. Call `end` with
   * the same values when what they name is gone.
   */
  begin(known: Readonly<Record<string, string>>): void {
    for (const values of this.possible(known)) {
      this.series(...(values as unknown as ValuesOf<Labels>));
      const labels = this.textOf(values);
      if (this.all.has(labels)) this.owners.set(labels, (this.owners.get(labels) ?? 0) + 1);
    }
  }

  /** Forgets the series that `begin` created with these values, unless somebody else has begun them too. */
  end(known: Readonly<Record<string, string>>): void {
    for (const values of this.possible(known)) {
      const labels = this.textOf(values);
      const owners = this.owners.get(labels) ?? 0;
      if (owners > 1) this.owners.set(labels, owners - 1);
      else if (owners === 1) this.forget(labels);
    }
  }

  /** Shows these series and no others: what is true of a few of many, and of others the next time. */
  show(this: Metric<ValueSeries, Labels>, rows: readonly (readonly [values: ValuesOf<Labels>, value: number])[]): void {
    for (const labels of this.all.keys()) this.forget(labels);
    for (const [values, value] of rows) this.series(...values).set(value);
  }

  /** Prometheus's text format, version 0.0.4. */
  text(): string {
    const lines = [`# HELP ${this.name} ${this.help}`, `# TYPE ${this.name} ${this.kind}`];
    for (const series of this.other === undefined ? this.all.values() : [...this.all.values(), this.other]) {
      if (series instanceof HistogramSeries) lines.push(...histogramLines(this.name, series));
      else lines.push(`${this.name}${series.labels === '' ? '' : `{${series.labels}}`} ${series.value}`);
    }
    return lines.join('\n');
  }

  private get hasRoom(): boolean {
    return this.all.size < LARGEST_METRIC && this.budget.used + this.lines <= this.budget.most;
  }

  private get lines(): number {
    return this.description.lines ?? 1;
  }

  private textOf(values: readonly (string | number)[]): string {
    return this.labelNames.map((name, index) => `${name}="${escapeLabel(String(values[index] ?? ''))}"`).join();
  }

  /** The values of every series that has these. */
  private possible(known: Readonly<Record<string, string>>): readonly (readonly string[])[] {
    const { labels, isPossible = () => true } = this.description;
    const lists = labels.map(([name, values]) =>
      typeof values === 'string' ? [known[name] ?? ''] : known[name] === undefined ? values.map(String) : [known[name]],
    );
    const none: readonly (readonly string[])[] = [[]];
    const all = lists.reduce((rows, list) => rows.flatMap((row) => list.map((value) => [...row, value])), none);
    return all.filter((values) => isPossible(values));
  }

  private forget(labels: string): void {
    this.owners.delete(labels);
    if (this.all.delete(labels)) this.budget.used -= this.lines;
  }

  private overflow(): Series {
    this.other ??= this.description.create(this.labelNames.map((name) => `${name}="other"`).join());
    return this.other;
  }
}

/**
 * A number that only grows.
 * @param isPossible whether label values can stand beside each other; all can unless said.
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

/** A number as it is now. */
export function gauge<const Labels extends readonly Label[]>(
  name: string,
  help: string,
  labels: Labels,
): Metric<ValueSeries, Labels> {
  return new Metric({ name, kind: 'gauge', help, labels, create: (text) => new ValueSeries(text) });
}

/** How often a measured value was in which range. @param bounds upper bounds, growing. */
export function histogram<const Labels extends readonly Label[]>(
  name: string,
  help: string,
  bounds: readonly number[],
  labels: Labels,
): Metric<HistogramSeries, Labels> {
  const create = (text: string): HistogramSeries => new HistogramSeries(text, bounds);
  return new Metric({ name, kind: 'histogram', help, labels, create, lines: bounds.length + 3 });
}

function histogramLines(name: string, series: HistogramSeries): string[] {
  const prefix = series.labels === '' ? '' : `${series.labels},`;
  const braces = series.labels === '' ? '' : `{${series.labels}}`;
  const lines: string[] = [];
  let total = 0;
  series.counts.forEach((count, index) => {
    total += count;
    lines.push(`${name}_bucket{${prefix}le="${series.bounds[index] ?? '+Inf'}"} ${total}`);
  });
  lines.push(`${name}_sum${braces} ${series.sum}`, `${name}_count${braces} ${total}`);
  return lines;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
