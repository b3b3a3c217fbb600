/**
 * Limits retries to a share of a service's requests, so that retries do not double the load on a failing service. The
 * budget is a token bucket. Each request adds a fraction of a token, and each retry takes one token.
 */

/** Initial number of tokens, which allows retries without previous traffic. */
const FIRST_RETRIES = 10;
/** Maximum number of tokens. */
const MAX_RETRIES_SAVED = 100;

export class RetryBudget {
  private tokens = FIRST_RETRIES;

  /** @param share maximum retries per request, such as 0.2; 0 allows no retries. */
  constructor(private readonly share: number) {}

  /** Adds the share of one request. Call this for first attempts only. */
  deposit(): void {
    this.tokens = Math.min(MAX_RETRIES_SAVED, this.tokens + this.share);
  }

  get isEmpty(): boolean {
    return this.share === 0 || this.tokens < 1;
  }

  /**
   * Takes the token for one retry. Returns false if the budget does not allow the retry.
   * @param isProbe whether the failed call was a probe. Probes are rare, and the gateway chose the risk. So the gateway
   *   may retry a probe with an empty budget, but not with a share of 0.
   */
  withdraw(isProbe: boolean): boolean {
    if (this.isEmpty && (!isProbe || this.share === 0)) return false;
    this.tokens = Math.max(0, this.tokens - 1);
    return true;
  }
}
