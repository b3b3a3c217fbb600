/**
 * Counts the requests of a sliding window in memory, in a ring of buckets. For a minute window, a bucket is one second.
 * The Redis script follows the same rules.
 */

export const MINUTE_SECONDS = 60;

/**
 * Number of buckets: 60 full seconds and the current one. A request therefore counts for 60 to 61 seconds, and no span
 * of 60 seconds contains more than the limit.
 */
export const MINUTE_BUCKETS = MINUTE_SECONDS + 1;

/** Maximum count per bucket in the pooled ring. A window with a larger count allocates its own ring. */
const LARGEST_SMALL_COUNT = 0xffff;

/**
 * SlidingWindow counts the requests of the last 61 buckets. The number of a bucket is its start time divided by the
 * bucket length. Call `slideTo` before reading or adding.
 */
export class SlidingWindow {
  sum = 0;
  /** Oldest bucket with a count. Meaningless while `sum` is 0. */
  oldest = 0;
  private last = 0;
  /** The window's own ring, if a count was too large for the pooled ring. */
  private wide: Float64Array | undefined;

  /** @param counts array with a ring of zeros at `from`, which only this window uses */
  constructor(
    protected readonly counts: Uint16Array = new Uint16Array(MINUTE_BUCKETS),
    protected readonly from = 0,
  ) {}

  /** Returns the current bucket, which does not change if the clock is set back by less than a window. */
  get current(): number {
    return this.last;
  }

  /** Moves the window to a bucket, and drops buckets that have left the window. */
  slideTo(bucket: number): void {
    const last = this.last;
    if (bucket === last) return;
    if (bucket < last) {
      // The clock was set back. If it was set back by less than a window, the current bucket does not change. Otherwise
      // all counts move to the new bucket.
      if (last - bucket >= MINUTE_BUCKETS) this.restart(bucket, this.sum);
      return;
    }
    this.last = bucket;
    if (this.sum === 0) {
      this.oldest = bucket;
    } else if (bucket - last >= MINUTE_BUCKETS) {
      this.restart(bucket, 0);
    } else {
      this.drop(bucket - MINUTE_BUCKETS + 1, last);
    }
  }

  /** Adds to the current bucket. */
  add(amount: number): void {
    if (this.sum === 0) this.oldest = this.last;
    this.setCount(this.last, this.countOf(this.last) + amount);
    this.sum += amount;
  }

  /** Subtracts from a bucket, at most its count. Does nothing if the bucket has left the window. */
  refundAt(bucket: number, amount: number): void {
    if (bucket <= this.last - MINUTE_BUCKETS || bucket > this.last) return;
    const count = this.countOf(bucket);
    const refunded = Math.min(amount, count);
    this.setCount(bucket, count - refunded);
    this.sum -= refunded;
    if (bucket === this.oldest && refunded === count) this.drop(bucket + 1, this.last);
  }

  /**
   * Returns the bucket at which a count of `amount` will have left the window. If the window has less, returns the
   * bucket at which the window will be empty.
   */
  freedAt(amount: number): number {
    let freed = 0;
    if (this.sum > 0) {
      for (let bucket = this.oldest; bucket <= this.last; bucket++) {
        freed += this.countOf(bucket);
        if (freed >= amount) return bucket + MINUTE_BUCKETS;
      }
    }
    return this.last + MINUTE_BUCKETS;
  }

  /** Removes the buckets before `keep`, and finds the oldest bucket with a count. */
  private drop(keep: number, last: number): void {
    for (let bucket = this.oldest; bucket <= last; bucket++) {
      const count = this.countOf(bucket);
      if (bucket >= keep && count > 0) {
        this.oldest = bucket;
        return;
      }
      this.sum -= count;
      this.setCount(bucket, 0);
    }
    this.oldest = this.last;
  }

  /** Clears the window, and puts `sum` into a new current bucket. */
  private restart(bucket: number, sum: number): void {
    this.counts.fill(0, this.from, this.from + MINUTE_BUCKETS);
    this.wide = undefined;
    this.last = bucket;
    this.oldest = bucket;
    this.sum = sum;
    this.setCount(bucket, sum);
  }

  protected countOf(bucket: number): number {
    const slot = bucket % MINUTE_BUCKETS;
    return (this.wide === undefined ? this.counts[this.from + slot] : this.wide[slot]) ?? 0;
  }

  protected setCount(bucket: number, count: number): void {
    const slot = bucket % MINUTE_BUCKETS;
    if (this.wide === undefined) {
      if (count <= LARGEST_SMALL_COUNT) {
        this.counts[this.from + slot] = count;
        return;
      }
      this.wide = Float64Array.from(this.counts.subarray(this.from, this.from + MINUTE_BUCKETS));
    }
    this.wide[slot] = count;
  }
}
