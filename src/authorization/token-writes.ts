/**
 * What a request to the token endpoint writes: a code or a refresh token is used up, and there is a pair of tokens for
 * it. The library asks for one after the other; they are written together, with the last of them. Where the database
 * goes away on the way, or the process ends, a client still has what it came with.
 */
import type { Kysely } from 'kysely';
import { REPEATED_REFRESH_MS, TooManyTokens, type ClientKeys } from './clients/client-keys.js';
import type { Tables } from '../stores/database/schema.js';
import type { OAuthObjects, StoredObject, StoredPayload } from './clients/oauth-objects.js';
import type { Clock } from '../platform/clock.js';

/** Kind of the objects that are refresh tokens. */
export const REFRESH_TOKEN = 'RefreshToken';

/** TokenWriteParts are what it stands on. */
export interface TokenWriteParts {
  readonly objects: OAuthObjects;
  readonly keys: ClientKeys;
  readonly clock: Clock;
  /** The request that is being served, whoever asks; undefined: none is. */
  readonly request: () => object | undefined;
  /** Returns the error for a second use that is not allowed. */
  readonly usedTwice: () => Error;
  /** Returns the error for a key that has too many new tokens. */
  readonly tooMany: (retryAfterMs: number) => Error;
}

/** NewRefreshToken is a refresh token as it is kept. */
export interface NewRefreshToken {
  readonly kind: string;
  readonly id: string;
  readonly payload: StoredPayload;
  readonly expiresAtMs: number;
  readonly keyId: string | undefined;
}

/** NewAccessToken is an access token as it is kept. */
export interface NewAccessToken {
  readonly keyId: string;
  readonly token: string;
  readonly expiresAtMs: number;
}

/** What a request has asked for until now. */
interface Pending {
  readonly used: { readonly kind: string; readonly id: string };
  refresh?: NewRefreshToken;
  access?: NewAccessToken;
}

/** TokenWrites gathers them, for each request by itself. */
export class TokenWrites {
  private readonly pending = new WeakMap<object, Pending>();

  constructor(private readonly parts: TokenWriteParts) {}

  /** Takes what is used up. */
  use(kind: string, id: string): void {
    const request = this.parts.request();
    if (request === undefined) throw new Error('nobody asks for tokens');
    this.pending.set(request, { used: { kind, id } });
  }

  /** Takes the refresh token. Rejects as `addAccess` does. */
  addRefresh(refresh: NewRefreshToken): Promise<void> {
    return this.add({ refresh });
  }

  /**
   * Takes the access token. The later of the two calls writes both tokens. It rejects with the database's error, or
   * with `usedTwice` or `tooMany`; then nothing is written.
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
      const within = objects.within(trx);
      if (!(await within.consume(used.kind, used.id))) {
        const found = await within.find(used.kind, used.id);
        if (found === undefined || isUsedUp(used.kind, found, clock)) throw usedTwice();
      }
      await within.put(refresh.kind, refresh.id, refresh.payload, refresh.expiresAtMs, { keyId: refresh.keyId });
    };
    await keys.addToken(access.keyId, access.token, access.expiresAtMs, write).catch((error: unknown) => {
      throw error instanceof TooManyTokens ? tooMany(error.retryAfterMs) : error;
    });
  }
}

/**
 * Reports whether an object was used and must not be used again. Clients with several windows send a refresh token at
 * the same moment, and clients that lost a response send it again: each gets tokens of its own. A later use is a replay
 * (RFC 9700 section 4.14.2), which ends the grant. Clocks of two nodes may differ either way.
 */
export function isUsedUp(kind: string, { consumedAt }: StoredObject, clock: Clock): boolean {
  if (consumedAt === null) return false;
  return kind !== REFRESH_TOKEN || Math.abs(clock.now() - consumedAt) >= REPEATED_REFRESH_MS;
}
