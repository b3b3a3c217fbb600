/**
 * What a request to the token endpoint writes: a code or a refresh token is used up, and there is a pair of tokens for
 * it. The library asks for one after the other; they are written together, with the last of them. Where the database
 * goes away on the way, or the process ends, a client still has what it came with.
 */
import type { ClientKeys } from '../oauth/client-keys.js';
import type { OAuthObjects, StoredPayload } from '../oauth/oauth-objects.js';

/** TokenWriteParts are what it stands on. */
export interface TokenWriteParts {
  readonly objects: OAuthObjects;
  readonly keys: ClientKeys;
  /** The request that is being served, whoever asks; undefined: none is. */
  readonly request: () => object | undefined;
  /** What is thrown where something is used twice at the same moment. */
  readonly usedTwice: () => Error;
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
   * Takes the access token. Whichever of the two comes last rejects with the database's error, or with that of what is
   * used twice; then nothing is written.
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
    const { keys, objects, usedTwice } = this.parts;
    await keys.addToken(access.keyId, access.token, access.expiresAtMs, async (trx) => {
      const within = objects.within(trx);
      if (!(await within.consume(used.kind, used.id))) throw usedTwice();
      await within.put(refresh.kind, refresh.id, refresh.payload, refresh.expiresAtMs, refresh.keyId);
    });
  }
}
