/**
 * Whose request met the end of an operation, or a rehearsal of it: these are refused before their key is looked at.
 * Looked for when the response has been sent, so that no response depends on it in content or time.
 */
import type { Authenticator } from '../../keys/authenticator.js';
import { bearerSecret } from '../../keys/bearer.js';
import type { FailedAttempts } from '../../keys/failed-attempts.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Exchange } from './exchange.js';

/** Requests whose keys are looked up at the same time; beyond, one is counted without an account. */
const MOST_LOOKUPS = 100;

export class EndedCallers {
  private lookups = 0;

  constructor(
    private readonly authenticator: Pick<Authenticator, 'recognise' | 'ownerOf'>,
    private readonly failedAttempts: Pick<FailedAttempts, 'refusal' | 'note'>,
  ) {}

  /**
   * The key of a request that was refused before it was asked for; undefined where there is
   * none that may be used. Never rejects.
   */
  find(exchange: Exchange): CachedKey | undefined | Promise<CachedKey | undefined> {
    const { clientAddress } = exchange;
    if (this.lookups >= MOST_LOOKUPS || this.failedAttempts.refusal(clientAddress) !== undefined) return undefined;
    const secret = bearerSecret(exchange.authorization, exchange.rawHeaders, exchange.url);
    if (typeof secret !== 'string') return undefined;
    const found = this.authenticator.recognise(secret, clientAddress);
    return found instanceof Promise ? this.wait(found, exchange) : keyOf(found);
  }

  /** The key of a request that was refused because it may not be used any more; undefined where it is not in memory. */
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
      // Whoever makes keys up has the database asked here too.
      if (key === 'unknown') this.failedAttempts.note(exchange.clientAddress, exchange.isFromUnknownProxy);
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
