/**
 * Storage adapters for the library `oidc-provider`, which connect its objects with our database. Secrets are never
 * stored in plain text. An access token is a secret of an API key, and a grant is an API key. Every other object is
 * stored under the hash of its ID.
 */
import { isAccessToken } from '../keys/api-key-format.js';
import { CLIENT, INTERACTION, SUBJECT } from './clients/authorization-requests.js';
import type { ClientKeys } from './clients/client-keys.js';
import type { Clock } from '../platform/clock.js';
import type { OAuthObjects, StoredPayload } from './clients/oauth-objects.js';
import { isUsedUp, REFRESH_TOKEN, type TokenWrites } from './token-writes.js';

/**
 * Context of the audit log entry when the library revokes a grant. A client can revoke its grant, and a replayed code
 * or refresh token ends the grant.
 */
const CLIENT_ACTOR = { actor: 'system', actorLabel: 'OAuth client', ip: '', requestId: '' } as const;
/** Expiration of objects that have none, in milliseconds since the epoch (year 2243). */
const NO_END_MS = 8_640_000_000_000;

/** StoredObjectParts holds the dependencies of the adapters. */
export interface StoredObjectParts {
  readonly objects: OAuthObjects;
  readonly keys: ClientKeys;
  readonly clock: Clock;
  /** URL of the MCP server, which tokens are issued for. */
  readonly resource: string;
  /** Returns every scope that an operation requires. */
  readonly scopes: () => readonly string[];
  /** Groups the writes of a token request. */
  readonly writes: TokenWrites;
  /** Stores the interaction of the current request. */
  readonly openRequest: (id: string, interaction: StoredPayload, expiresAtMs: number) => Promise<void>;
  /** Returns the URL where the browser continues after the decision, given the interaction's ID. */
  readonly resumeUrl: (id: string) => string;
}

/** Adapter is the library's storage interface for one kind of object. */
export interface Adapter {
  upsert(id: string, payload: StoredPayload, expiresInSeconds?: number): Promise<void>;
  find(id: string): Promise<StoredPayload | undefined>;
  findByUid(uid: string): Promise<undefined>;
  findByUserCode(code: string): Promise<undefined>;
  consume(id: string): Promise<void>;
  destroy(id: string): Promise<void>;
  revokeByGrantId(keyId: string): Promise<void>;
}

/** Returns the adapter for a kind of object, as the library names the kind. */
export function adapterOf(kind: string, parts: StoredObjectParts): Adapter {
  if (kind === 'AccessToken') return new AccessTokens(parts);
  if (kind === 'Grant') return new Grants(parts);
  return new Objects(kind, parts);
}

/** Objects stores codes, refresh tokens, interactions, browser sessions and clients. */
class Objects implements Adapter {
  constructor(
    private readonly kind: string,
    protected readonly parts: StoredObjectParts,
  ) {}

  async upsert(id: string, payload: StoredPayload, expiresInSeconds?: number): Promise<void> {
    const expiresAt = expiresInSeconds === undefined ? NO_END_MS : this.parts.clock.now() + expiresInSeconds * 1_000;
    const { grantId } = payload;
    const keyId = typeof grantId === 'string' ? grantId : undefined;
    const kept = this.withoutId(payload);
    if (this.kind === REFRESH_TOKEN) {
      const { kind } = this;
      return this.parts.writes.addRefresh({ kind, id, payload: kept, expiresAtMs: expiresAt, keyId });
    }
    if (this.kind === INTERACTION) return this.parts.openRequest(id, kept, expiresAt);
    await this.parts.objects.storeObject(this.kind, id, kept, expiresAt, { keyId });
  }

  async find(id: string): Promise<StoredPayload | undefined> {
    const found = await this.parts.objects.findPayload(this.kind, id);
    if (found === undefined) return undefined;
    const { payload, consumedAt } = found;
    if (this.kind === CLIENT) return payload;
    const isUsed = consumedAt !== null && isUsedUp(this.kind, found, this.parts.clock);
    const consumed = isUsed ? { consumed: Math.floor(consumedAt / 1_000) } : {};
    const resumed = this.kind === INTERACTION ? { returnTo: this.parts.resumeUrl(id) } : {};
    return { ...payload, ...resumed, ...consumed, jti: id };
  }

  /** Returns undefined, because no feature that we use looks up sessions by this ID. */
  async findByUid(): Promise<undefined> {}

  async findByUserCode(): Promise<undefined> {}

  async consume(id: string): Promise<void> {
    this.parts.writes.markUsed(this.kind, id);
  }

  destroy(id: string): Promise<void> {
    return this.parts.objects.deleteObject(this.kind, id);
  }

  revokeByGrantId(keyId: string): Promise<void> {
    return this.parts.objects.forgetOfKey(this.kind, keyId);
  }

  /** Removes secrets from a payload: the object's own ID, the URL with that ID, and the cookie of its session. */
  private withoutId({ jti: _jti, returnTo: _returnTo, ...payload }: StoredPayload): StoredPayload {
    const { session } = payload;
    if (typeof session !== 'object' || session === null) return payload;
    const { cookie: _cookie, ...rest } = session as StoredPayload;
    return { ...payload, session: rest };
  }
}

/** AccessTokens stores access tokens as secrets of API keys. */
class AccessTokens implements Adapter {
  constructor(private readonly parts: StoredObjectParts) {}

  async upsert(id: string, { grantId, exp }: StoredPayload): Promise<void> {
    if (typeof grantId !== 'string' || typeof exp !== 'number') throw new Error('an access token of nobody');
    await this.parts.writes.addAccess({ keyId: grantId, token: id, expiresAtMs: exp * 1_000 });
  }

  async find(id: string): Promise<StoredPayload | undefined> {
    const found = isAccessToken(id) ? await this.parts.keys.findToken(id) : undefined;
    if (found === undefined) return undefined;
    const { key, issuedAt, expiresAt } = found;
    return {
      kind: 'AccessToken',
      jti: id,
      accountId: SUBJECT,
      clientId: key.clientId,
      grantId: key.id,
      aud: this.parts.resource,
      scope: key.scopes.join(' '),
      iat: Math.floor(issuedAt / 1_000),
      exp: Math.floor(expiresAt / 1_000),
    };
  }

  async findByUid(): Promise<undefined> {}

  async findByUserCode(): Promise<undefined> {}

  async consume(): Promise<void> {
    throw new Error('access tokens work more than once');
  }

  destroy(id: string): Promise<void> {
    return this.parts.keys.endToken(id);
  }

  /** Does nothing, because access tokens end with their key. */
  async revokeByGrantId(): Promise<void> {}
}

/** Grants reads and revokes grants, which are API keys. An approval in the panel creates them. */
class Grants implements Adapter {
  constructor(private readonly parts: StoredObjectParts) {}

  async upsert(): Promise<void> {
    throw new Error('grants are made in the panel');
  }

  async find(id: string): Promise<StoredPayload | undefined> {
    const key = await this.parts.keys.find(id);
    if (key === undefined) return undefined;
    const { resource, scopes } = this.parts;
    const rejected = scopes().filter((scope) => !key.scopes.includes(scope));
    return {
      kind: 'Grant',
      jti: id,
      accountId: SUBJECT,
      clientId: key.clientId,
      resources: { [resource]: key.scopes.join(' ') },
      ...(rejected.length === 0 ? {} : { rejected: { resources: { [resource]: rejected.join(' ') } } }),
      iat: Math.floor(key.createdAt / 1_000),
      exp: Math.floor((key.expiresAt ?? NO_END_MS) / 1_000),
    };
  }

  async findByUid(): Promise<undefined> {}

  async findByUserCode(): Promise<undefined> {}

  async consume(): Promise<void> {
    throw new Error('grants work more than once');
  }

  destroy(id: string): Promise<void> {
    return this.parts.keys.revoke(id, CLIENT_ACTOR);
  }

  async revokeByGrantId(): Promise<void> {}
}
