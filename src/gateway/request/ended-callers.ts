/**
 * Finds the caller of a request to an operation that has ended, or whose end is being tested. Such requests are refused
 * before authentication. The lookup runs after the response, so that it affects neither content nor timing.
 */
import type { Authenticator } from '../../keys/authenticator.js';
import { bearerSecret } from '../../keys/bearer.js';
import type { FailedAttempts } from '../../keys/failed-attempts.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Exchange } from './exchange.js';

/** Maximum number of concurrent lookups. Further requests are counted without an account. */
const MOST_LOOKUPS = 100;

export class EndedCallers {
  private lookups = 0;

  constructor(
    private readonly authenticator: Pick<Authenticator, 'recognise' | 'ownerOf'>,
    private readonly failedAttempts: Pick<FailedAttempts, 'problemFor' | 'record'>,
  ) {}

  /**
   * Returns the key of a request that was refused before authentication. Returns undefined if it has no usable key.
   * Never rejects.
   */
  find(exchange: Exchange): CachedKey | undefined | Promise<CachedKey | undefined> {
    const { clientAddress } = exchange;
    if (this.lookups >= MOST_LOOKUPS || this.failedAttempts.problemFor(clientAddress) !== undefined) return undefined;
    const secret = bearerSecret(exchange.authorization, exchange.rawHeaders, exchange.url);
    if (typeof secret !== 'string') return undefined;
    const found = this.authenticator.recognise(secret, clientAddress);
    return found instanceof Promise ? this.wait(found, exchange) : keyOf(found);
  }

  /** Returns the cached key of a request that was refused because the key has ended, or undefined. */
  findUnusable(exchange: Exchange): CachedKey | undefined {
    const secret = bearerSecret(exchange.authorization, exchange.rawHeaders, exchange.url);
    return typeof secret === 'string' ? this.authenticator.ownerOf(secret) : undefined;
  }

  private async wait(
    found: Promise<CachedKey | 'unknown' | 'unusable'>,
    exchange: Exchange,
  ): Promise<CachedKey | undefined> {
    this.lookups += 1;
    try {
      const key = await found;
      // Unknown keys cause database lookups here too, so they count as failed attempts.
      if (key === 'unknown') this.failedAttempts.record(exchange.clientAddress, exchange.isFromUnknownProxy);
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
