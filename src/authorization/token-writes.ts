/**
 * Groups the writes of a token request, which consumes a code or refresh token and issues two tokens. The library
 * performs these writes one by one. `TokenWrites` collects the writes and runs them in one transaction when the last
 * one arrives. If the database or the process fails earlier, the client can still use its old token.
 */
import type { Kysely } from 'kysely';
import { REPEATED_REFRESH_MS, TooManyTokens, type ClientKeys } from './clients/client-keys.js';
import type { Tables } from '../stores/database/schema.js';
import type { OAuthObjects, StoredObject, StoredPayload } from './clients/oauth-objects.js';
import type { Clock } from '../platform/clock.js';

/** Kind of stored objects that are refresh tokens. */
export const REFRESH_TOKEN = 'RefreshToken';

/** TokenWriteParts holds the dependencies of `TokenWrites`. */
export interface TokenWriteParts {
  readonly objects: OAuthObjects;
  readonly keys: ClientKeys;
  readonly clock: Clock;
  /** Returns an object that identifies the current request. Undefined outside of a request. */
  readonly request: () => object | undefined;
  /** Creates the error for a code or refresh token that was already used. */
  readonly usedTwice: () => Error;
  /** Creates the error for a key with too many new tokens. */
  readonly tooMany: (retryAfterMs: number) => Error;
}

/** NewRefreshToken is a refresh token to be stored. */
export interface NewRefreshToken {
  readonly kind: string;
  readonly id: string;
  readonly payload: StoredPayload;
  readonly expiresAtMs: number;
  readonly keyId: string | undefined;
}

/** NewAccessToken is an access token to be stored. */
export interface NewAccessToken {
  readonly keyId: string;
  readonly token: string;
  readonly expiresAtMs: number;
}

/** Pending holds the collected writes of a request. */
interface Pending {
  readonly used: { readonly kind: string; readonly id: string };
  refresh?: NewRefreshToken;
  access?: NewAccessToken;
}

/** TokenWrites collects the writes of each request until both tokens are known. */
export class TokenWrites {
  private readonly pending = new WeakMap<object, Pending>();

  constructor(private readonly parts: TokenWriteParts) {}

  /** Records the code or refresh token that the request consumes. Writes nothing yet. Throws outside of a request. */
  markUsed(kind: string, id: string): void {
    const request = this.parts.request();
    if (request === undefined) throw new Error('nobody asks for tokens');
    this.pending.set(request, { used: { kind, id } });
  }

  /** Adds the request's refresh token. Rejects as `addAccess` does. */
  addRefresh(refresh: NewRefreshToken): Promise<void> {
    return this.add({ refresh });
  }

  /**
   * Adds the request's access token. When both tokens are added, writes them. Rejects with the error of `usedTwice`, of
   * `tooMany` or of the database. On rejection, nothing is written.
   */
  addAccess(access: NewAccessToken): Promise<void> {
    return this.add({ access });
  }

  private async add(token: Pick<Pending, 'refresh' | 'access'>): Promise<void> {
    const request = this.parts.request();
    const pending = request && this.pending.get(request);
    if (pending === undefined) throw new Error('tokens for nothing');
    const { used, refresh, access } = Object.assign(pending, token);
    if (refresh === undefined || access === undefined) return;
    const { keys, objects, clock, usedTwice, tooMany } = this.parts;
    const write = async (trx: Kysely<Tables>): Promise<void> => {
      const within = objects.inTransaction(trx);
      if (!(await within.markUsed(used.kind, used.id))) {
        const found = await within.findPayload(used.kind, used.id);
        if (found === undefined || isUsedUp(used.kind, found, clock)) throw usedTwice();
      }
      await within.storeObject(refresh.kind, refresh.id, refresh.payload, refresh.expiresAtMs, {
        keyId: refresh.keyId,
      });
    };
    await keys.addToken(access.keyId, access.token, access.expiresAtMs, write).catch((error: unknown) => {
      throw error instanceof TooManyTokens ? tooMany(error.retryAfterMs) : error;
    });
  }
}

/**
 * Reports whether an object was used and must not be used again. Clients with several windows send one refresh token
 * concurrently, and clients that lost a response repeat their request. So for `REPEATED_REFRESH_MS`, each such request
 * gets its own tokens. A later use of the refresh token is a replay (RFC 9700 section 4.14.2) and ends the grant. The
 * time difference is absolute, because clocks of nodes differ.
 */
export function isUsedUp(kind: string, { consumedAt }: StoredObject, clock: Clock): boolean {
  if (consumedAt === null) return false;
  return kind !== REFRESH_TOKEN || Math.abs(clock.now() - consumedAt) >= REPEATED_REFRESH_MS;
}
