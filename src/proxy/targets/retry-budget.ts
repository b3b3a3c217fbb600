/**
 * Limits retries to a share of a service's requests, so that retries do not double the load on a failing service. It is
 * a token bucket: each request adds a fraction, each retry takes one.
 */

/** Initial balance, which allows retries without previous traffic. */
const FIRST_RETRIES = 10;
/** Upper limit of the balance. */
const MOST_RETRIES_SAVED = 100;

export class RetryBudget {
  private balance = FIRST_RETRIES;

  /** Creates a budget. @param share retries per request, such as 0.2. */
  constructor(private readonly share: number) {}

  /** Adds the share of one request. Call it for first attempts only. */
  deposit(): void {
    this.balance = Math.min(MOST_RETRIES_SAVED, this.balance + this.share);
  }

  get isEmpty(): boolean {
    return this.share === 0 || this.balance < 1;
  }

  /**
   * Takes one retry. Returns false if none is left.
   * @param isProbe whether the failed call was a probe. Probes are rare and were the gateway's choice, so an empty
   *   budget does not prevent their retry. A share of 0 does.
   */
  withdraw(isProbe: boolean): boolean {
    if (this.isEmpty && (!isProbe || this.share === 0)) return false;
    this.balance = Math.max(0, this.balance - 1);
    return true;
  }
}
