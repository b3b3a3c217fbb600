/**
 * Manages the API keys of OAuth clients. An approval creates a key with the chosen scopes and expiration. Each access
 * token of the client is a secret of that key, with its own expiration. So the gateway authenticates, limits and
 * refuses a token like a key.
 */
import type { Kysely } from 'kysely';
import type { ChangeContext } from '../../records/audit-log.js';
import type { CreateApiKey } from '../../accounts/api-key-fields.js';
import type { ApiKey, AuthorizedClient } from '../../accounts/api-key-rows.js';
import type { ApiKeyStore } from '../../accounts/api-key-store.js';
import type { Tables } from '../../stores/database/schema.js';
import type { Invalidation, InvalidationBus } from '../../keys/api-key.js';
import { parseStrings } from '../../keys/api-key-columns.js';
import { hashSecret } from '../../keys/api-key-format.js';
import { checkCreator } from '../../members/credentials.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';

/**
 * Time after the first use of a refresh token in which the client may use the token again, for clients with several
 * windows. Each use issues new tokens. The limit of tokens per key never ends access tokens younger than this, because
 * a window has just received them.
 */
export const REPEATED_REFRESH_MS = 60_000;
/** Maximum number of valid access tokens of a key. Each window of a client can have its own token. */
const MAX_TOKENS = 50;
/**
 * Time after the expiration of a token in which its hash remains stored. During this time, the token is refused as
 * expired and does not count as an attempt with an invalid key.
 */
const DEAD_TOKEN_RETENTION_MS = 86_400_000;
/** Maximum number of stored tokens of a key, valid or not. */
const MAX_KEPT_TOKENS = 100;
/** Ending a token sets its expiration this far in the past, so that nodes with a slow clock also refuse the token. */
const CLOCK_MARGIN_MS = 60_000;

/** ClientKey is the key of an OAuth client, active or paused. */
export interface ClientKey {
  readonly id: string;
  readonly accountId: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Expiration in milliseconds since the epoch. Null if the key does not expire. */
  readonly expiresAt: number | null;
  readonly createdAt: number;
}

/** ClientToken is a valid access token. Its key may be paused. Times are in milliseconds since the epoch. */
export interface ClientToken {
  readonly key: ClientKey;
  readonly issuedAt: number;
  readonly expiresAt: number;
}

export interface ClientKeyParts {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly bus: Pick<InvalidationBus, 'publish'>;
  readonly keys: Pick<ApiKeyStore, 'createForClient' | 'revoke'>;
}

/** TooManyTokens is thrown if a key has its maximum number of tokens, and all of them are too new to end. */
export class TooManyTokens extends Error {
  /** @param retryAfterMs time until the key can have another token */
  constructor(readonly retryAfterMs: number) {
    super('too many tokens of one key');
  }
}

/**
 * ClientKeys creates, reads and revokes keys and tokens of OAuth clients. Methods also reject with the database's
 * error.
 */
export class ClientKeys {
  constructor(private readonly parts: ClientKeyParts) {}

  /**
   * Creates the key of a client. Rejects with a `Problem` for invalid input, and with `forbidden` if the member lost
   * their role in the meantime.
   */
  create(accountId: string, input: CreateApiKey, client: AuthorizedClient, context: ChangeContext): Promise<ApiKey> {
    return this.parts.keys.createForClient(accountId, input, client, context, (trx, kind) =>
      checkCreator(trx, kind, context, { type: 'oauth_grant', role: null }, accountId),
    );
  }

  /** Returns a client's key, or undefined. Keys that are revoked, expired, or without a client are not returned. */
  async find(keyId: string): Promise<ClientKey | undefined> {
    const row = await this.parts.db
      .selectFrom('api_key')
      .select(['id', 'account_id', 'oauth_client_id', 'scopes', 'status', 'expires_at', 'created_at'])
      .where('id', '=', keyId)
      .executeTakeFirst();
    return row && usableKey(row, this.parts.clock.now());
  }

  /**
   * Adds a random text as an access token of a key. Deletes old tokens, and ends the oldest valid tokens beyond the
   * limit. If those tokens are too new to end, adds nothing and rejects with `TooManyTokens`.
   * @param writeFirst writes in the same transaction, before the token
   */
  async addToken(
    keyId: string,
    token: string,
    expiresAtMs: number,
    writeFirst: (trx: Kysely<Tables>) => Promise<void>,
  ): Promise<void> {
    const { db, clock, bus } = this.parts;
    const now = clock.now();
    const change = await db.transaction().execute(async (trx) => {
      await writeFirst(trx);
      const dead = trx.deleteFrom('api_key_secret').where('api_key_id', '=', keyId);
      await dead.where('expires_at', '<', now - DEAD_TOKEN_RETENTION_MS).execute();
      const value = { hash: hashSecret(token), api_key_id: keyId, created_at: now, expires_at: expiresAtMs };
      await trx
        .insertInto('api_key_secret')
        .values({ ...value, last_used_at: null, last_used_ip: null })
        .execute();
      const kept = await trx
        .selectFrom('api_key_secret')
        .select(['hash', 'created_at', 'expires_at'])
        .where('api_key_id', '=', keyId)
        .orderBy('created_at', 'desc')
        .orderBy('hash')
        .execute();
      const surplus = kept.slice(MAX_KEPT_TOKENS).map(({ hash }) => hash);
      if (surplus.length > 0) await trx.deleteFrom('api_key_secret').where('hash', 'in', surplus).execute();
      const excess = kept.filter(({ expires_at: end }) => end !== null && end > now).slice(MAX_TOKENS);
      const [newest] = excess;
      if (newest === undefined) return undefined;
      const retryAfterMs = newest.created_at + REPEATED_REFRESH_MS - now;
      if (retryAfterMs > 0) throw new TooManyTokens(retryAfterMs);
      for (const { hash } of excess) await endSecret(trx, hash, now);
      return invalidationOf(trx, keyId);
    });
    if (change !== undefined) await bus.publish(change);
  }

  /** Returns a valid access token, or undefined if the token is unknown or expired, or its key has ended. */
  async findToken(token: string): Promise<ClientToken | undefined> {
    const { db, clock } = this.parts;
    const now = clock.now();
    const row = await db
      .selectFrom('api_key_secret as secret')
      .innerJoin('api_key as key', 'key.id', 'secret.api_key_id')
      .select(['key.id', 'key.account_id', 'key.oauth_client_id', 'key.scopes', 'key.status', 'key.created_at'])
      .select(['key.expires_at', 'secret.created_at as issued_at', 'secret.expires_at as token_expires_at'])
      .where('secret.hash', '=', hashSecret(token))
      .executeTakeFirst();
    if (row === undefined || row.token_expires_at === null || row.token_expires_at <= now) return undefined;
    const key = usableKey(row, now);
    return key && { key, issuedAt: row.issued_at, expiresAt: row.token_expires_at };
  }

  /** Ends an access token. All nodes refuse the token within a second. Does nothing if the token is unknown. */
  async endToken(token: string): Promise<void> {
    const hash = hashSecret(token);
    const { db, bus, clock } = this.parts;
    const row = await db.selectFrom('api_key_secret').select('api_key_id').where('hash', '=', hash).executeTakeFirst();
    if (row === undefined) return;
    await endSecret(db, hash, clock.now());
    const change = await invalidationOf(db, row.api_key_id);
    if (change !== undefined) await bus.publish(change);
  }

  /** Revokes a client's key. Does nothing if the key is unknown. */
  async revoke(keyId: string, context: ChangeContext): Promise<void> {
    await this.parts.keys.revoke(keyId, context).catch((error: unknown) => {
      if (!(error instanceof Problem && error.code === 'resource_not_found')) throw error;
    });
  }
}

interface KeyRow {
  readonly id: string;
  readonly account_id: string;
  readonly oauth_client_id: string | null;
  readonly scopes: string;
  readonly status: string;
  readonly expires_at: number | null;
  readonly created_at: number;
}

function usableKey(row: KeyRow, nowMs: number): ClientKey | undefined {
  const { id, oauth_client_id: clientId, status, expires_at: expiresAt } = row;
  // A paused key still belongs to its client. The gateway refuses its tokens until the key resumes. If refreshing a
  // token failed, the client would discard its grant.
  if (clientId === null || status === 'revoked' || (expiresAt !== null && expiresAt <= nowMs)) return undefined;
  const { account_id: accountId, created_at: createdAt } = row;
  return { id, accountId, clientId, scopes: parseStrings(row.scopes), expiresAt, createdAt };
}

async function endSecret(db: Kysely<Tables>, hash: string, nowMs: number): Promise<void> {
  const secret = db.updateTable('api_key_secret').where('hash', '=', hash).where('expires_at', '>', nowMs);
  await secret.set({ expires_at: nowMs - CLOCK_MARGIN_MS }).execute();
}

/** Returns the message that tells all nodes about a changed key. Undefined if the key does not exist. */
async function invalidationOf(db: Kysely<Tables>, keyId: string): Promise<Invalidation | undefined> {
  const row = await db.selectFrom('api_key').select('account_id').where('id', '=', keyId).executeTakeFirst();
  return row && { type: 'api_key', accountId: row.account_id, keyId };
}
