/** The minute window in this process: a ring of one-second buckets, the same rules as the script in Redis. */

/** Width of the sliding window in seconds. */
export const MINUTE_SECONDS = 60;

/**
 * One-second buckets that are counted together: 60 whole ones and the one that is being filled. A request therefore
 * counts for 60 to 61 seconds, and no span of 60 seconds ever holds more than the limit.
 */
export const MINUTE_BUCKETS = MINUTE_SECONDS + 1;

/** The most that a bucket of a small ring holds; a window that needs more gets a ring of its own. */
const LARGEST_SMALL_COUNT = 0xffff;

/** Counts of the last 60 to 61 buckets: first slide to the current one, then read or add. */
export class SlidingWindow {
  /** Sum of the ring. */
  sum = 0;
  /** Oldest bucket that holds a count; meaningless while `sum` is 0. */
  oldest = 0;
  private last = 0;
  /** The ring, once a bucket did not fit the small one. */
  private wide: Float64Array | undefined;

  /** @param counts an array with a ring of zeros for this window alone, beginning at `from`. */
  constructor(
    protected readonly counts: Uint16Array = new Uint16Array(MINUTE_BUCKETS),
    protected readonly from = 0,
  ) {}

  /** The bucket that is being filled: the clock's, or the last one while the clock is behind. */
  get current(): number {
    return this.last;
  }

  /** Drops what has left the window. */
  slideTo(bucket: number): void {
    const last = this.last;
    if (bucket === last) return;
    if (bucket < last) {
      // The clock went back. A little: go on in the open bucket. By more than a window: all of it counts from now on.
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

  /** Counts in the current bucket. */
  add(amount: number): void {
    if (this.sum === 0) this.oldest = this.last;
    this.put(this.last, this.countOf(this.last) + amount);
    this.sum += amount;
  }

  /** Takes back what was counted in a bucket, as far as the bucket is still in the window and holds it. */
  giveBack(bucket: number, amount: number): void {
    if (bucket <= this.last - MINUTE_BUCKETS || bucket > this.last) return;
    const held = this.countOf(bucket);
    const back = Math.min(amount, held);
    this.put(bucket, held - back);
    this.sum -= back;
    if (bucket === this.oldest && back === held) this.drop(bucket + 1, this.last);
  }

  /** The bucket from which `amount` more has left; a whole window from now where that never is enough. */
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
