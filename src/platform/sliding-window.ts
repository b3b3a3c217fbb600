/** The minute window in memory: a ring of one-second buckets with the same rules as the Redis script. */

export const MINUTE_SECONDS = 60;

/**
 * Number of buckets: 60 full seconds and the current one. So a request counts for 60 to 61 seconds, and no span of 60
 * seconds contains more than the limit.
 */
export const MINUTE_BUCKETS = MINUTE_SECONDS + 1;

/** Maximum count per bucket in the pooled ring. A window that needs more allocates its own. */
const LARGEST_SMALL_COUNT = 0xffff;

/** SlidingWindow counts the last 60 to 61 seconds. Call `slideTo` before reading or adding. */
export class SlidingWindow {
  sum = 0;
  /** Oldest bucket with a count. Undefined content while `sum` is 0. */
  oldest = 0;
  private last = 0;
  /** Own ring, after a bucket has exceeded the pooled one. */
  private wide: Float64Array | undefined;

  /** @param counts array with a ring of zeros at `from`, used by this window only. */
  constructor(
    protected readonly counts: Uint16Array = new Uint16Array(MINUTE_BUCKETS),
    protected readonly from = 0,
  ) {}

  /** The current bucket. Does not go back with the clock. */
  get current(): number {
    return this.last;
  }

  /** Moves the window, and drops buckets that have left it. */
  slideTo(bucket: number): void {
    const last = this.last;
    if (bucket === last) return;
    if (bucket < last) {
      // The clock was set back. If by less than a window, stay in the current bucket. Otherwise all counts move to the
      // new one.
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

  add(amount: number): void {
    if (this.sum === 0) this.oldest = this.last;
    this.put(this.last, this.countOf(this.last) + amount);
    this.sum += amount;
  }

  /** Subtracts from a bucket, at most what it holds. Does nothing if the bucket has left the window. */
  refundAt(bucket: number, amount: number): void {
    if (bucket <= this.last - MINUTE_BUCKETS || bucket > this.last) return;
    const count = this.countOf(bucket);
    const back = Math.min(amount, count);
    this.put(bucket, count - back);
    this.sum -= back;
    if (bucket === this.oldest && back === count) this.drop(bucket + 1, this.last);
  }

  /**
   * Returns the bucket at which `amount` will have left the window, or the end of a full window if it never holds as
   * much.
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

  private drop(keep: number, last: number): void {
    for (let bucket = this.oldest; bucket <= last; bucket++) {
      const count = this.countOf(bucket);
      if (bucket >= keep && count > 0) {
        this.oldest = bucket;
        return;
      }
      this.sum -= count;
      this.put(bucket, 0);
    }
    this.oldest = this.last;
  }

  private restart(bucket: number, sum: number): void {
    this.counts.fill(0, this.from, this.from + MINUTE_BUCKETS);
    this.wide = undefined;
    this.last = bucket;
    this.oldest = bucket;
    this.sum = sum;
    this.put(bucket, sum);
  }

  protected countOf(bucket: number): number {
    const slot = bucket % MINUTE_BUCKETS;
    return (this.wide === undefined ? this.counts[this.from + slot] : this.wide[slot]) ?? 0;
  }

  protected put(bucket: number, count: number): void {
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
