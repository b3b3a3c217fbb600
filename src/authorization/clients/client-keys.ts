/**
 * The keys of OAuth clients. When a person lets a client in, a key is made, with the scopes and the end that they
 * chose; each access token of the client is a secret of that key with an end of its own. So a token costs the request
 * path what a key costs, counts where a key counts, and ends when its key is revoked.
 */
import type { Kysely } from 'kysely';
import type { ChangeContext } from '../../records/audit-log.js';
import type { CreateApiKey } from '../../accounts/api-key-fields.js';
import type { ApiKey, LetInClient } from '../../accounts/api-key-rows.js';
import type { ApiKeyStore } from '../../accounts/api-key-store.js';
import type { Tables } from '../../stores/database/schema.js';
import type { Invalidation, InvalidationBus } from '../../keys/api-key.js';
import { parseStrings } from '../../keys/api-key-columns.js';
import { hashSecret } from '../../keys/api-key-format.js';
import { checkCreator } from '../../members/credentials.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';

/**
 * A refresh token works again for this long after its first use, and each use gives a token. No token is ended this
 * soon after it was issued: a window of the client holds it.
 */
export const REPEATED_REFRESH_MS = 60_000;
/** Tokens of one key that work at the same time: each window of a client can have one. */
const MOST_TOKENS = 50;
/** How long an ended token is remembered. Until then it is refused as expired, and its use is no guess. */
const DEAD_TOKEN_RETENTION_MS = 86_400_000;
/** Tokens of one key that are remembered, working or not. */
const MOST_KEPT_TOKENS = 100;
/** A token that is ended has ended this long ago, so that a node whose clock is behind refuses it, too. */
const CLOCK_MARGIN_MS = 60_000;

/** ClientKey is the key of a client that is let in, paused or not. */
export interface ClientKey {
  readonly id: string;
  readonly accountId: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch, as all times here; null: it ends when it is revoked. */
  readonly expiresAt: number | null;
  readonly createdAt: number;
}

/** ClientToken is an access token that works as far as its key does. */
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

/** TooManyTokens is thrown where a key got as many tokens as it may have, all of them a moment ago. */
export class TooManyTokens extends Error {
  /** @param retryAfterMs until the key can have another one. */
  constructor(readonly retryAfterMs: number) {
    super('too many tokens of one key');
  }
}

/** ClientKeys makes, reads and ends them. Rejects with the database's error. */
export class ClientKeys {
  constructor(private readonly parts: ClientKeyParts) {}

  /**
   * Makes the key of a client. Rejects with a `Problem` for what was chosen wrongly, with `forbidden` for a member who
   * lost their role meanwhile.
   */
  create(accountId: string, input: CreateApiKey, client: LetInClient, context: ChangeContext): Promise<ApiKey> {
    return this.parts.keys.createForClient(accountId, input, client, context, (trx, kind) =>
      checkCreator(trx, kind, context, { type: 'oauth_grant', role: null }, accountId),
    );
  }

  /** Undefined where it is no client's, or over. */
  async find(keyId: string): Promise<ClientKey | undefined> {
    const row = await this.parts.db
      .selectFrom('api_key')
      .select(['id', 'account_id', 'oauth_client_id', 'scopes', 'status', 'expires_at', 'created_at'])
      .where('id', '=', keyId)
      .executeTakeFirst();
    return row && usableKey(row, this.parts.clock.now());
  }

  /**
   * Makes a text that was drawn by chance an access token of a key until a time. What an earlier one leaves is cleared
   * away; of too many that work, the oldest end. Rejects with `TooManyTokens` where those were issued a moment ago.
   * @param together what is written with it, before it: all of it, or nothing.
   */
  async addToken(
    keyId: string,
    token: string,
    expiresAtMs: number,
    together: (trx: Kysely<Tables>) => Promise<void>,
  ): Promise<void> {
    const { db, clock, bus } = this.parts;
    const now = clock.now();
    const change = await db.transaction().execute(async (trx) => {
      await together(trx);
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
      const forgotten = kept.slice(MOST_KEPT_TOKENS).map(({ hash }) => hash);
      if (forgotten.length > 0) await trx.deleteFrom('api_key_secret').where('hash', 'in', forgotten).execute();
      const oldest = kept.filter(({ expires_at: end }) => end !== null && end > now).slice(MOST_TOKENS);
      const [newest] = oldest;
      if (newest === undefined) return undefined;
      const retryAfterMs = newest.created_at + REPEATED_REFRESH_MS - now;
      if (retryAfterMs > 0) throw new TooManyTokens(retryAfterMs);
      for (const { hash } of oldest) await endSecret(trx, hash, now);
      return changeOf(trx, keyId);
    });
    if (change !== undefined) await bus.publish(change);
  }

  /** Undefined for a text that is no token, or none any more. */
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

  /** Ends an access token, on every node within a second. */
  async endToken(token: string): Promise<void> {
    const hash = hashSecret(token);
    const { db, bus, clock } = this.parts;
    const row = await db.selectFrom('api_key_secret').select('api_key_id').where('hash', '=', hash).executeTakeFirst();
    if (row === undefined) return;
    await endSecret(db, hash, clock.now());
    const change = await changeOf(db, row.api_key_id);
    if (change !== undefined) await bus.publish(change);
  }

  /** Takes back what a client was let in by. Does nothing where that has been done, or there is no such key. */
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
  // One that is paused stays a client's: its tokens are refused where they are used, and go on when it does. Without
  // the next token its client would throw away what it has.
  if (clientId === null || status === 'revoked' || (expiresAt !== null && expiresAt <= nowMs)) return undefined;
  const { account_id: accountId, created_at: createdAt } = row;
  return { id, accountId, clientId, scopes: parseStrings(row.scopes), expiresAt, createdAt };
}

async function endSecret(db: Kysely<Tables>, hash: string, nowMs: number): Promise<void> {
  const secret = db.updateTable('api_key_secret').where('hash', '=', hash).where('expires_at', '>', nowMs);
  await secret.set({ expires_at: nowMs - CLOCK_MARGIN_MS }).execute();
}

/** What every node is told of a key that has changed. */
async function changeOf(db: Kysely<Tables>, keyId: string): Promise<Invalidation | undefined> {
  const row = await db.selectFrom('api_key').select('account_id').where('id', '=', keyId).executeTakeFirst();
  return row && { type: 'api_key', accountId: row.account_id, keyId };
}
