/** Buckets of a Prometheus native histogram: exponential, and as many as the observed values need. */
import type { NativeHistogram } from './family.js';

/** Resolution: 2^SCHEMA buckets for each power of two, so a bucket is 9 % wide. */
export const SCHEMA = 3;
const BUCKETS_PER_DOUBLING = 2 ** SCHEMA;
/** Values up to this bound are counted as zero. 30 ns as a duration in seconds. */
export const ZERO_THRESHOLD = 2 ** -25;
/** Larger values are counted in the last bucket. */
const LAST = 32 * BUCKETS_PER_DOUBLING;
/** Number of buckets that the array grows by, in the direction of a value outside it. */
const GROWTH = 2 * BUCKETS_PER_DOUBLING;

export class NativeBuckets {
  private zero = 0;
  private first = 0;
  private counts = new Float64Array(0);

  observe(value: number): void {
    if (!(value > ZERO_THRESHOLD)) {
      this.zero++;
      return;
    }
    const index = Math.min(LAST, Math.ceil(Math.log2(value) * BUCKETS_PER_DOUBLING));
    if (index < this.first || index >= this.first + this.counts.length) this.cover(index);
    const at = index - this.first;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
  }

  read(): NativeHistogram {
    return { zero: this.zero, first: this.first, counts: [...this.counts] };
  }

  /** Grows the array so that it holds this bucket. */
  private cover(index: number): void {
    const { counts, first } = this;
    const isEmpty = counts.length === 0;
    const newFirst = isEmpty || index < first ? index - (isEmpty ? GROWTH / 2 : GROWTH - 1) : first;
    const newEnd = isEmpty ? newFirst + GROWTH : Math.max(first + counts.length, index + (index < first ? 0 : GROWTH));
    const grown = new Float64Array(newEnd - newFirst);
    if (!isEmpty) grown.set(counts, first - newFirst);
    this.first = newFirst;
    this.counts = grown;
  }
}

/** Adds two histograms. */
export function addNative(a: NativeHistogram, b: NativeHistogram): NativeHistogram {
  const first = Math.min(a.first, b.first);
  const end = Math.max(a.first + a.counts.length, b.first + b.counts.length);
  const counts = Array.from(
    { length: end - first },
    (_, at) => (a.counts[first + at - a.first] ?? 0) + (b.counts[first + at - b.first] ?? 0),
  );
  return { zero: a.zero + b.zero, first, counts };
}
