/**
 * Finds the API keys of requests that were refused because of a sunset, a brownout or an unusable key, for metrics and
 * logs. The lookup runs after the response, so that the key affects neither the response nor its timing.
 */
import type { Authenticator } from '../../keys/authenticator.js';
import { bearerSecret } from '../../keys/bearer.js';
import type { FailedAttempts } from '../../keys/failed-attempts.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Exchange } from './exchange.js';

/** Maximum number of concurrent lookups. Above this number, requests are counted without an account. */
const MAX_LOOKUPS = 100;

export class EndedCallers {
  private lookups = 0;

  constructor(
    private readonly authenticator: Pick<Authenticator, 'lookUpForCounting' | 'ownerOf'>,
    private readonly failedAttempts: Pick<FailedAttempts, 'problemFor' | 'recordAttempt'>,
  ) {}

  /**
   * Looks up the key of a request that was refused before authentication. The result is undefined if the request has no
   * usable key, its address is throttled, or too many lookups are running. The promise never rejects.
   */
  find(exchange: Exchange): CachedKey | undefined | Promise<CachedKey | undefined> {
    const { clientAddress } = exchange;
    if (this.lookups >= MAX_LOOKUPS || this.failedAttempts.problemFor(clientAddress) !== undefined) return undefined;
    const secret = bearerSecret(exchange.authorization, exchange.rawHeaders, exchange.url);
    if (typeof secret !== 'string') return undefined;
    const found = this.authenticator.lookUpForCounting(secret, clientAddress);
    return found instanceof Promise ? this.awaitLookup(found, exchange) : keyOf(found);
  }

  /**
   * Returns the cached key of a request that was refused because the key is revoked or expired. Returns undefined if
   * the key is not in the cache.
   */
  findUnusable(exchange: Exchange): CachedKey | undefined {
    const secret = bearerSecret(exchange.authorization, exchange.rawHeaders, exchange.url);
    return typeof secret === 'string' ? this.authenticator.ownerOf(secret) : undefined;
  }

  private async awaitLookup(
    found: Promise<CachedKey | 'unknown' | 'unusable'>,
    exchange: Exchange,
  ): Promise<CachedKey | undefined> {
    this.lookups += 1;
    try {
      const key = await found;
      // An unknown key causes a database lookup here, too, so it counts as a failed attempt.
      if (key === 'unknown') this.failedAttempts.recordAttempt(exchange.clientAddress, exchange.isFromUnknownProxy);
      return keyOf(key);
    } catch {
      return undefined;
    } finally {
      this.lookups -= 1;
    }
  }
}

function keyOf(found: CachedKey | 'unknown' | 'unusable'): CachedKey | undefined {
  return typeof found === 'string' ? undefined : found;
}
