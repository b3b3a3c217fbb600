/**
 * Revokes API keys that were sent in clear text, if `gateway.revokeExposedKeys` is set. The response is sent before the
 * key is looked up, so that the response reveals nothing about the key.
 */
import type { Authenticator } from '../keys/authenticator.js';
import type { FailedAttempts } from '../keys/failed-attempts.js';
import type { Logger } from '../platform/log.js';
import type { ApiKeyStore } from './api-key-store.js';

/**
 * Maximum number of concurrent lookups. Keys that arrive at the maximum are ignored until a later request contains
 * them.
 */
const MAX_LOOKUPS = 100;

/** ExposingRequest is a request that was refused because the client sent a key in clear text. */
export interface ExposingRequest {
  /** The secret in the request. It has the format of an API key. */
  readonly secret: string;
  readonly clientAddress: string;
  readonly requestId: string;
  readonly isFromUnknownProxy: boolean;
}

export class ExposedKeys {
  private lookups = 0;

  constructor(
    private readonly authenticator: Pick<Authenticator, 'find'>,
    private readonly keys: Pick<ApiKeyStore, 'revokeExposed'>,
    private readonly failedAttempts: Pick<FailedAttempts, 'problemFor' | 'recordAttempt'>,
    private readonly log: Logger,
  ) {}

  /**
   * Revokes the key of a request. An unknown key counts as a failed attempt of the address. Logs errors and never
   * rejects.
   */
  async revoke({ secret, clientAddress, requestId, isFromUnknownProxy }: ExposingRequest): Promise<void> {
    // Skip the lookup for throttled addresses, because attempts with random keys must not overload the database.
    if (this.lookups >= MAX_LOOKUPS || this.failedAttempts.problemFor(clientAddress) !== undefined) return;
    this.lookups += 1;
    try {
      const key = await this.authenticator.find(secret);
      if (key === undefined) this.failedAttempts.recordAttempt(clientAddress, isFromUnknownProxy);
      if (key === undefined || key.record.keyStatus === 'revoked') return;
      await this.keys.revokeExposed(key.record.keyId, { actor: 'system', ip: clientAddress, requestId });
    } catch (error) {
      this.log.warn({ event: 'exposed_key_kept', request_id: requestId, err: error }, 'an exposed key is not revoked');
    } finally {
      this.lookups -= 1;
    }
  }
}
