/**
 * How many retries a service may have: a share of its requests, so that a service in trouble is not asked twice as
 * often because of it. A bucket that each request fills a little and each retry empties by one.
 */

/** What a service without traffic may retry at once, and what is in the bucket at start. */
const FIRST_RETRIES = 10;
/** The most that quiet times save up. */
const MOST_RETRIES_SAVED = 100;

export class RetryBudget {
  private balance = FIRST_RETRIES;

  /** @param share retries per request, 0.2 for a fifth. */
  constructor(private readonly share: number) {}

  /** A request has been sent for the first time. */
  deposit(): void {
    this.balance = Math.min(MOST_RETRIES_SAVED, this.balance + this.share);
  }

  get isEmpty(): boolean {
    return this.share === 0 || this.balance < 1;
  }

  /**
   * Takes a retry; false where none is left.
   * @param isProbe of the one call that tried an ejected target: there are few, and we chose it ourselves. Only where
   *   there are no retries at all is there none for it.
   */
  withdraw(isProbe: boolean): boolean {
    if (this.isEmpty && (!isProbe || this.share === 0)) return false;
    this.balance = Math.max(0, this.balance - 1);
    return true;
  }
}
