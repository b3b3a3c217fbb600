/**
 * Where the library keeps what it makes. What it hands out is never written as it is: of an access token the secret of
 * a key is made, a grant is a key, and everything else stands under the hash of what it is presented by.
 */
import { isAccessToken } from '../keys/api-key-format.js';
import { CLIENT, INTERACTION, SUBJECT } from './clients/authorization-requests.js';
import type { ClientKeys } from './clients/client-keys.js';
import type { Clock } from '../platform/clock.js';
import type { OAuthObjects, StoredPayload } from './clients/oauth-objects.js';
import { isUsedUp, REFRESH_TOKEN, type TokenWrites } from './token-writes.js';

/** Who takes back what a client was let in by, in the audit log. */
const BY_ITSELF = { actor: 'system', actorLabel: 'OAuth client', ip: '', requestId: '' } as const;
/** Far away, for what has no end. */
const NO_END_MS = 8_640_000_000_000;

/** StoredObjectParts are what the objects stand on. */
export interface StoredObjectParts {
  readonly objects: OAuthObjects;
  readonly keys: ClientKeys;
  readonly clock: Clock;
  /** What tokens are for: the URL of the MCP server. */
  readonly resource: string;
  /** Every scope that an operation asks for. */
  readonly scopes: () => readonly string[];
  /** What a code or a refresh token is used up for. */
  readonly writes: TokenWrites;
  /** Keeps an interaction of the request that is being served. */
  readonly openRequest: (id: string, interaction: StoredPayload, expiresAtMs: number) => Promise<void>;
  /** Where an interaction is resumed. */
  readonly resumeUrl: (id: string) => string;
}

/** Adapter is what the library asks for, for one kind of object. */
export interface Adapter {
  upsert(id: string, payload: StoredPayload, expiresInSeconds?: number): Promise<void>;
  find(id: string): Promise<StoredPayload | undefined>;
  findByUid(uid: string): Promise<undefined>;
  findByUserCode(code: string): Promise<undefined>;
  consume(id: string): Promise<void>;
  destroy(id: string): Promise<void>;
  revokeByGrantId(keyId: string): Promise<void>;
}

/** Gives the adapter of a kind. */
export function adapterOf(kind: string, parts: StoredObjectParts): Adapter {
  if (kind === 'AccessToken') return new AccessTokens(parts);
  if (kind === 'Grant') return new Grants(parts);
  return new Objects(kind, parts);
}

/** Codes, refresh tokens, interactions, sessions of browsers, clients. */
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
    await this.parts.objects.put(this.kind, id, kept, expiresAt, { keyId });
  }

  async find(id: string): Promise<StoredPayload | undefined> {
    const found = await this.parts.objects.find(this.kind, id);
    if (found === undefined) return undefined;
    const { payload, consumedAt } = found;
    if (this.kind === CLIENT) return payload;
    const isOver = consumedAt !== null && isUsedUp(this.kind, found, this.parts.clock);
    const consumed = isOver ? { consumed: Math.floor(consumedAt / 1_000) } : {};
    const resumed = this.kind === INTERACTION ? { returnTo: this.parts.resumeUrl(id) } : {};
    return { ...payload, ...resumed, ...consumed, jti: id };
  }

  /** Sessions end by themselves, soon, and nothing ends with them. */
  async findByUid(): Promise<undefined> {}

  async findByUserCode(): Promise<undefined> {}

  async consume(id: string): Promise<void> {
    this.parts.writes.use(this.kind, id);
  }

  destroy(id: string): Promise<void> {
    return this.parts.objects.forget(this.kind, id);
  }

  revokeByGrantId(keyId: string): Promise<void> {
    return this.parts.objects.forgetOfKey(this.kind, keyId);
  }

  /** Neither what it is presented by, nor the cookie of the session that it was made in. */
  private withoutId({ jti: _jti, returnTo: _returnTo, ...payload }: StoredPayload): StoredPayload {
    const { session } = payload;
    if (typeof session !== 'object' || session === null) return payload;
    const { cookie: _cookie, ...rest } = session as StoredPayload;
    return { ...payload, session: rest };
  }
}

/** Access tokens are secrets of keys. */
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

  /** They end with their key. */
  async revokeByGrantId(): Promise<void> {}
}

/** A grant is a key: made where a person says so, and gone where it is revoked or over. */
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
    return this.parts.keys.revoke(id, BY_ITSELF);
  }

  async revokeByGrantId(): Promise<void> {}
}
