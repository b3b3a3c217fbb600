/** The minute window in this process: a ring of one-second buckets, the same rules as the script in Redis. */
import { MINUTE_BUCKETS } from './policies.js';

/** Counts of the last 60 to 61 buckets. Every method takes the current bucket number and slides first. */
export class SlidingWindow {
  /** Sum of the ring. */
  sum = 0;
  /** Oldest bucket that holds a count; meaningless while `sum` is 0. */
  oldest = 0;
  private last = 0;
  private readonly ring = new Float64Array(MINUTE_BUCKETS);

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
    this.ring[this.last % MINUTE_BUCKETS] = (this.ring[this.last % MINUTE_BUCKETS] ?? 0) + amount;
    this.sum += amount;
  }

  /** Takes back what was counted in a bucket, as far as the bucket is still in the window and holds it. */
  giveBack(bucket: number, amount: number): void {
    if (bucket <= this.last - MINUTE_BUCKETS || bucket > this.last) return;
    const slot = bucket % MINUTE_BUCKETS;
    const back = Math.min(amount, this.ring[slot] ?? 0);
    this.ring[slot] = (this.ring[slot] ?? 0) - back;
    this.sum -= back;
    if (bucket === this.oldest && this.ring[slot] === 0) this.drop(bucket + 1, this.last);
  }

  /** The bucket from which `amount` more has left; a whole window from now where that never is enough. */
  freedAt(amount: number): number {
    let freed = 0;
    if (this.sum > 0) {
      for (let bucket = this.oldest; bucket <= this.last; bucket++) {
        freed += this.ring[bucket % MINUTE_BUCKETS] ?? 0;
        if (freed >= amount) return bucket + MINUTE_BUCKETS;
      }
    }
    return this.last + MINUTE_BUCKETS;
  }

  private drop(keep: number, last: number): void {
    for (let bucket = this.oldest; bucket <= last; bucket++) {
      const slot = bucket % MINUTE_BUCKETS;
      const count = this.ring[slot] ?? 0;
      if (bucket >= keep && count > 0) {
        this.oldest = bucket;
        return;
      }
      this.sum -= count;
      this.ring[slot] = 0;
    }
    this.oldest = this.last;
  }

  private restart(bucket: number, sum: number): void {
    this.ring.fill(0);
    this.last = bucket;
    this.oldest = bucket;
    this.sum = sum;
    this.ring[bucket % MINUTE_BUCKETS] = sum;
  }
}
