/**
 * Stores the signing secrets of webhook endpoints. They are encrypted, not hashed, because each attempt needs them.
 * Each secret comes with a key pair. During a rotation an endpoint has several.
 */
import { createHmac } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import { newId } from '../../stores/database/ids.js';
import { kindOf } from '../../stores/database/database-kind.js';
import { textList } from '../../stores/database/json-rows.js';
import type { Tables } from '../../stores/database/schema.js';
import type { WebhookSecretTable } from '../../stores/database/tables/webhook-tables.js';
import { SealError, type SecretBox } from '../../stores/secrets/secret-box.js';
import { Problem } from '../../platform/problems/errors.js';
import {
  formatPublicKey,
  formatWebhookSecret,
  newSigningSeed,
  newWebhookSecret,
  privateKeyOf,
} from './webhook-secret.js';
import type { SigningKeys } from './webhook-signature.js';

/** Maximum number of active secrets. A further rotation ends the oldest. */
const MOST_LIVE = 3;
const FINGERPRINT_PURPOSE = 'webhook secrets';

/** A public key of an endpoint. */
export interface WebhookPublicKey {
  /** `whpk_…` */
  readonly key: string;
  readonly createdAt: number;
  /** End of its validity; null for the current key. */
  readonly expiresAt: number | null;
}

export interface SecretRotation {
  /** A secret supplied by the caller; null to generate one. */
  readonly brought: Buffer | null;
  readonly overlapMs: number;
  /** Whether the oldest secret may be ended early. */
  readonly endsPrevious: boolean;
}

/** WebhookSecrets creates, encrypts and decrypts signing secrets. */
export class WebhookSecrets {
  /** Creates the store. @param box null without a shared encryption key, so that nothing can be encrypted or signed. */
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly box: SecretBox | null,
  ) {}

  /**
   * Returns the encryption box. Call it before any change. @throws Problem `secrets_unavailable` without an encryption
   * key.
   */
  check(): SecretBox {
    if (this.box !== null) return this.box;
    throw secretsUnavailable('The installation has no encryption key for secrets.');
  }

  /**
   * Adds a secret to an endpoint. Rejects with `webhook_secret_in_use` if another endpoint has it.
   * @param brought an existing secret of the receiver; null to generate one.
   * @returns the plain secret, `whsec_…`. It is never available again.
   */
  async add(trx: Transaction<Tables>, endpointId: string, brought: Buffer | null, nowMs: number): Promise<string> {
    const box = this.check();
    const secret = brought ?? newWebhookSecret();
    const seed = newSigningSeed();
    const id = newId('whs', nowMs);
    const row: WebhookSecretTable = {
      id,
      endpoint_id: endpointId,
      secret: box.seal(secret, boundTo(id)),
      seed: box.seal(seed, boundTo(id, 'seed')),
      public_key: formatPublicKey(privateKeyOf(seed)),
      fingerprint: createHmac('sha256', box.keyFor(FINGERPRINT_PURPOSE)).update(secret).digest('base64url'),
      created_at: nowMs,
      expires_at: null,
    };
    const added = await trx
      .insertInto('webhook_secret')
      .values(row)
      .onConflict((conflict) => conflict.column('fingerprint').doNothing())
      .returning('id')
      .executeTakeFirst();
    if (added !== undefined) return formatWebhookSecret(secret);
    throw new Problem('webhook_secret_in_use', {
      detail: 'Another endpoint already has this secret. Omit `secret` to generate a new one.',
    });
  }

  /** Returns why imported secrets cannot be opened here, or undefined. */
  whyUnreadable(rows: readonly WebhookSecretTable[]): string | undefined {
    if (this.box === null) return 'the installation has no key for secrets';
    try {
      for (const { id, secret, seed } of rows) {
        this.box.open(secret, boundTo(id));
        this.box.open(seed, boundTo(id, 'seed'));
      }
      return undefined;
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      return error.message;
    }
  }

  /**
   * Adds a new secret and limits the previous ones to the overlap. At most three are active. Rejects with
   * `previous_secret_active` if the oldest would end now without `endsPrevious`.
   */
  async rotate(
    trx: Transaction<Tables>,
    endpointId: string,
    { brought, overlapMs, endsPrevious }: SecretRotation,
    nowMs: number,
  ): Promise<string> {
    this.check();
    const endMs = nowMs + overlapMs;
    const own = trx.updateTable('webhook_secret').where('endpoint_id', '=', endpointId);
    await own
      .set({ expires_at: endMs })
      .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', endMs)]))
      .execute();
    const live = await liveOf(trx, [endpointId], nowMs);
    const tooMany = live.slice(MOST_LIVE - 1).map(({ id }) => id);
    if (tooMany.length > 0 && !endsPrevious) throw previousSecretActive();
    if (tooMany.length > 0) await own.set({ expires_at: nowMs }).where('id', 'in', tooMany).execute();
    return this.add(trx, endpointId, brought, nowMs);
  }

  /**
   * Ends all secrets but the current one. @returns when the last of them would have expired; null if there was none.
   */
  async endPrevious(trx: Transaction<Tables>, endpointId: string, nowMs: number): Promise<number | null> {
    const live = await liveOf(trx, [endpointId], nowMs);
    const ends = live.flatMap(({ expires_at: endMs }) => endMs ?? []);
    if (ends.length === 0) return null;
    const own = trx.updateTable('webhook_secret').where('endpoint_id', '=', endpointId);
    await own.set({ expires_at: nowMs }).where('expires_at', '>', nowMs).execute();
    return Math.max(...ends);
  }

  /**
   * Returns the signing keys of an endpoint, current ones first. Rejects with `secrets_unavailable` if decryption
   * fails.
   */
  async signingKeys(endpointId: string, nowMs: number): Promise<SigningKeys> {
    const [keys] = await this.signingKeysOf([endpointId], nowMs);
    if (keys instanceof Error) throw keys;
    return keys!;
  }

  /**
   * Returns the signing keys of many endpoints with one query. The result has an error for keys that cannot be
   * decrypted.
   */
  async signingKeysOf(endpointIds: readonly string[], nowMs: number): Promise<readonly (SigningKeys | Error)[]> {
    const box = this.check();
    const rows = Map.groupBy(await liveOf(this.db, endpointIds, nowMs), (row) => row.endpoint_id);
    return endpointIds.map((id) => opened(box, rows.get(id) ?? []));
  }

  /** Returns the active public keys by endpoint, current ones first. */
  async publicKeys(endpointIds: readonly string[], nowMs: number): Promise<ReadonlyMap<string, WebhookPublicKey[]>> {
    const keys = new Map<string, WebhookPublicKey[]>(endpointIds.map((id) => [id, []]));
    if (endpointIds.length === 0) return keys;
    const rows = await this.db
      .selectFrom('webhook_secret')
      .select(['endpoint_id', 'public_key', 'created_at', 'expires_at'])
      .where('endpoint_id', 'in', endpointIds)
      .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', nowMs)]))
      .orderBy('id', 'desc')
      .execute();
    for (const row of rows) {
      const key = { key: row.public_key, createdAt: row.created_at, expiresAt: row.expires_at };
      keys.get(row.endpoint_id)?.push(key);
    }
    return keys;
  }

  /** Deletes expired secrets and returns their number. The worker role calls it periodically. */
  async deleteExpired(nowMs: number): Promise<number> {
    const result = await this.db.deleteFrom('webhook_secret').where('expires_at', '<=', nowMs).executeTakeFirst();
    return Number(result.numDeletedRows);
  }
}

/** Reads the active secrets of endpoints, newest first. */
function liveOf(db: Kysely<Tables>, endpointIds: readonly string[], nowMs: number): Promise<WebhookSecretTable[]> {
  return db
    .selectFrom('webhook_secret')
    .selectAll()
    .where('endpoint_id', 'in', textList(kindOf(db), endpointIds))
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', nowMs)]))
    .orderBy('id', 'desc')
    .execute();
}

function opened(box: SecretBox, rows: readonly WebhookSecretTable[]): SigningKeys | Error {
  const ends = rows.flatMap(({ expires_at: endMs }) => endMs ?? []);
  try {
    return {
      secrets: rows.map(({ id, secret }) => box.open(secret, boundTo(id))),
      privateKeys: rows.map(({ id, seed }) => privateKeyOf(box.open(seed, boundTo(id, 'seed')))),
      endsAtMs: ends.length === 0 ? undefined : Math.min(...ends),
    };
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    return secretsUnavailable('The secrets of this endpoint were encrypted with a different key.', error);
  }
}

/**
 * Returns the associated data for encryption, so that a ciphertext moved to another row or column cannot be decrypted.
 */
function boundTo(id: string, part?: 'seed'): string {
  return part === undefined ? `webhook_secret:${id}` : `webhook_secret:${id}:${part}`;
}

function previousSecretActive(): Problem {
  return new Problem('previous_secret_active', {
    detail: `The endpoint has ${MOST_LIVE} secrets. Send "end_previous_secret": true to end the oldest.`,
  });
}

function secretsUnavailable(detail: string, cause?: unknown): Problem {
  return new Problem('secrets_unavailable', { detail, cause });
}
