/**
 * Counts observations in the exponential buckets of a Prometheus native histogram. The number of buckets grows with the
 * range of the observed values.
 */
import type { NativeHistogram } from './family.js';

/** Resolution: 2^SCHEMA buckets for each power of two, so a bucket is 9 % wide. */
export const SCHEMA = 3;
const BUCKETS_PER_DOUBLING = 2 ** SCHEMA;
/** Values up to this bound are counted as zero. 30 ns as a duration in seconds. */
export const ZERO_THRESHOLD = 2 ** -25;
/** Index that stands for the zero bucket. */
const ZERO_INDEX = -(2 ** 30);
/** Binary logarithm of the bound of the last bucket, which also counts larger values. */
const MAX_LOG = 32;
/** Number of buckets by which the array grows, toward a value outside its range. */
const GROWTH = 2 * BUCKETS_PER_DOUBLING;

/** Returns the index of the bucket for a value: the least `i` with value <= 2^(i/8). */
export function nativeIndexOf(value: number): number {
  if (!(value > ZERO_THRESHOLD)) return ZERO_INDEX;
  return Math.ceil(Math.min(Math.log2(value), MAX_LOG) * BUCKETS_PER_DOUBLING) | 0;
}

export class NativeBuckets {
  private zero = 0;
  private first = 0;
  private counts = new Float64Array(0);

  /** Counts an observation. @param index result of `nativeIndexOf` */
  count(index: number): void {
    if (index === ZERO_INDEX) {
      this.zero++;
      return;
    }
    if (index < this.first || index >= this.first + this.counts.length) this.cover(index);
    const at = index - this.first;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
  }

  read(): NativeHistogram {
    return { zero: this.zero, first: this.first, counts: [...this.counts] };
  }

  /** Grows the array so that it contains the bucket `index`. */
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

/** Adds two native histograms, bucket by bucket. */
export function addNative(a: NativeHistogram, b: NativeHistogram): NativeHistogram {
  const first = Math.min(a.first, b.first);
  const end = Math.max(a.first + a.counts.length, b.first + b.counts.length);
  const counts = Array.from(
    { length: end - first },
    (_, at) => (a.counts[first + at - a.first] ?? 0) + (b.counts[first + at - b.first] ?? 0),
  );
  return { zero: a.zero + b.zero, first, counts };
}
