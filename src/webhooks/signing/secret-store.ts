/**
 * Stores the signing secrets of webhook endpoints. Secrets are encrypted and not hashed, because each attempt needs
 * them. Each secret has a key pair. During a rotation, an endpoint has several secrets.
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

/** Maximum number of active secrets per endpoint. A further rotation must end the oldest secret. */
const MAX_LIVE = 3;
/** Purpose for deriving the key of fingerprints, which detect repeated secrets. */
const FINGERPRINT_PURPOSE = 'webhook secrets';

/** A public key of an endpoint. */
export interface WebhookPublicKey {
  /** The key in the form `whpk_…`. */
  readonly key: string;
  readonly createdAt: number;
  /** End of the key's validity; null for the current key. */
  readonly expiresAt: number | null;
}

/** Options for a rotation. */
export interface SecretRotation {
  /** A secret that the caller supplied; null to generate a secret. */
  readonly suppliedSecret: Buffer | null;
  /** Time during which the previous secrets stay active. */
  readonly overlapMs: number;
  /** Whether the oldest secret may be ended early if the endpoint has too many secrets. */
  readonly endsPrevious: boolean;
}

/** WebhookSecrets creates, encrypts and decrypts signing secrets. */
export class WebhookSecrets {
  /** @param box null if no encryption key is configured. Nothing can be encrypted or signed then. */
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly box: SecretBox | null,
  ) {}

  /**
   * Returns the encryption box. Also used to check that there is an encryption key, before any change.
   * @throws Problem `secrets_unavailable` without an encryption key.
   */
  check(): SecretBox {
    if (this.box !== null) return this.box;
    throw secretsUnavailable('The installation has no encryption key for secrets.');
  }

  /**
   * Adds a secret to an endpoint. Rejects with `webhook_secret_in_use` if any endpoint already has this secret.
   * @param suppliedSecret an existing secret of the receiver; null to generate a secret.
   * @returns the plain secret, `whsec_…`, which cannot be read again.
   */
  async add(
    trx: Transaction<Tables>,
    endpointId: string,
    suppliedSecret: Buffer | null,
    nowMs: number,
  ): Promise<string> {
    const box = this.check();
    const secret = suppliedSecret ?? newWebhookSecret();
    const seed = newSigningSeed();
    const id = newId('whs', nowMs);
    const row: WebhookSecretTable = {
      id,
      endpoint_id: endpointId,
      secret: box.seal(secret, associatedData(id)),
      seed: box.seal(seed, associatedData(id, 'seed')),
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

  /** Returns the reason why this installation cannot decrypt imported secrets; undefined if it can. */
  whyUnreadable(rows: readonly WebhookSecretTable[]): string | undefined {
    if (this.box === null) return 'the installation has no key for secrets';
    try {
      for (const { id, secret, seed } of rows) {
        this.box.open(secret, associatedData(id));
        this.box.open(seed, associatedData(id, 'seed'));
      }
      return undefined;
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      return error.message;
    }
  }

  /**
   * Adds a new secret, and limits the previous secrets to the overlap. At most three secrets are active. If the oldest
   * secret must end early, rejects with `previous_secret_active` unless `endsPrevious` is set.
   * @returns the plain secret, as `add`.
   */
  async rotate(
    trx: Transaction<Tables>,
    endpointId: string,
    { suppliedSecret, overlapMs, endsPrevious }: SecretRotation,
    nowMs: number,
  ): Promise<string> {
    this.check();
    const endMs = nowMs + overlapMs;
    const own = trx.updateTable('webhook_secret').where('endpoint_id', '=', endpointId);
    await own
      .set({ expires_at: endMs })
      .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', endMs)]))
      .execute();
    const active = await readActive(trx, [endpointId], nowMs);
    const tooMany = active.slice(MAX_LIVE - 1).map(({ id }) => id);
    if (tooMany.length > 0 && !endsPrevious) throw previousSecretActive();
    if (tooMany.length > 0) await own.set({ expires_at: nowMs }).where('id', 'in', tooMany).execute();
    return this.add(trx, endpointId, suppliedSecret, nowMs);
  }

  /**
   * Ends all secrets except the current one. @returns the time at which the last of these secrets would have expired;
   * null if there were none.
   */
  async endPrevious(trx: Transaction<Tables>, endpointId: string, nowMs: number): Promise<number | null> {
    const active = await readActive(trx, [endpointId], nowMs);
    const ends = active.flatMap(({ expires_at: endMs }) => endMs ?? []);
    if (ends.length === 0) return null;
    const own = trx.updateTable('webhook_secret').where('endpoint_id', '=', endpointId);
    await own.set({ expires_at: nowMs }).where('expires_at', '>', nowMs).execute();
    return Math.max(...ends);
  }

  /**
   * Returns the signing keys of an endpoint, with the current keys first. Rejects with `secrets_unavailable` if the
   * keys cannot be decrypted.
   */
  async signingKeys(endpointId: string, nowMs: number): Promise<SigningKeys> {
    const [keys] = await this.signingKeysOf([endpointId], nowMs);
    if (keys instanceof Error) throw keys;
    return keys!;
  }

  /**
   * Returns the signing keys of many endpoints, in the order of the IDs. Contains an error for each endpoint whose keys
   * cannot be decrypted. Rejects with `secrets_unavailable` without an encryption key.
   */
  async signingKeysOf(endpointIds: readonly string[], nowMs: number): Promise<readonly (SigningKeys | Error)[]> {
    const box = this.check();
    const rows = Map.groupBy(await readActive(this.db, endpointIds, nowMs), (row) => row.endpoint_id);
    return endpointIds.map((id) => decryptKeys(box, rows.get(id) ?? []));
  }

  /** Returns the active public keys by endpoint ID, with the current keys first. */
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

  /** Deletes expired secrets and returns their number. The worker role calls this method once a day. */
  async deleteExpired(nowMs: number): Promise<number> {
    const result = await this.db.deleteFrom('webhook_secret').where('expires_at', '<=', nowMs).executeTakeFirst();
    return Number(result.numDeletedRows);
  }
}

/** Reads the active secrets of endpoints, newest first. */
function readActive(db: Kysely<Tables>, endpointIds: readonly string[], nowMs: number): Promise<WebhookSecretTable[]> {
  return db
    .selectFrom('webhook_secret')
    .selectAll()
    .where('endpoint_id', 'in', textList(kindOf(db), endpointIds))
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', nowMs)]))
    .orderBy('id', 'desc')
    .execute();
}

/** Decrypts the keys of an endpoint. Returns an error if the keys cannot be decrypted. */
function decryptKeys(box: SecretBox, rows: readonly WebhookSecretTable[]): SigningKeys | Error {
  const ends = rows.flatMap(({ expires_at: endMs }) => endMs ?? []);
  try {
    return {
      secrets: rows.map(({ id, secret }) => box.open(secret, associatedData(id))),
      privateKeys: rows.map(({ id, seed }) => privateKeyOf(box.open(seed, associatedData(id, 'seed')))),
      endsAtMs: ends.length === 0 ? undefined : Math.min(...ends),
    };
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    return secretsUnavailable('The secrets of this endpoint were encrypted with a different key.', error);
  }
}

/**
 * Returns the associated data for encryption. Because of this data, a ciphertext that was moved to another row or
 * column cannot be decrypted.
 */
function associatedData(id: string, part?: 'seed'): string {
  return part === undefined ? `webhook_secret:${id}` : `webhook_secret:${id}:${part}`;
}

function previousSecretActive(): Problem {
  return new Problem('previous_secret_active', {
    detail: `The endpoint has ${MAX_LIVE} secrets. Send "end_previous_secret": true to end the oldest.`,
  });
}

function secretsUnavailable(detail: string, cause?: unknown): Problem {
  return new Problem('secrets_unavailable', { detail, cause });
}
