/** Creates, reads and locks rows of API keys. Converts rows for the admin API and the audit log. */
import type { Kysely, Transaction } from 'kysely';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { newId } from '../stores/database/ids.js';
import type { ApiKeyTable, Tables } from '../stores/database/schema.js';
import { Problem } from '../platform/problems/errors.js';
import type { MonthGrant } from '../quota/model/effective-limits.js';
import { hashSecret } from '../keys/api-key-format.js';
import { columnsOf, settingsOf, type CreateApiKey, type KeySettings } from './api-key-fields.js';
import type { AuditedFields } from '../records/audit-log.js';

/**
 * ApiKey is an API key without its secret. Times are in milliseconds since the epoch. Null means that the key never
 * expires, was never used, or is not revoked.
 */
export interface ApiKey extends KeySettings {
  readonly id: string;
  readonly accountId: string;
  readonly status: 'active' | 'paused' | 'expired' | 'revoked';
  readonly expiresAt: number | null;
  readonly hint: string;
  /** When the previous secret of a rotation stops working. Null if only the current secret works. */
  readonly previousSecretExpiresAt: number | null;
  /** Requests granted in addition to the monthly limit, and the month of the grant. */
  readonly grant: MonthGrant;
  readonly lastUsedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly revokedAt: number | null;
  /** Version for `If-Match`. Every audited change increments the version. Uses of the key and quota grants do not. */
  readonly version: number;
  /** OAuth client that holds the key's access tokens. Null if the key has a secret. */
  readonly oauthClient: AuthorizedClient | null;
}

/** OAuthClientName identifies an OAuth client. */
export interface OAuthClientName {
  /** URL of the client's metadata document, or the ID from its registration. */
  readonly id: string;
  /** Display name that the client chose. Unverified. */
  readonly name: string;
}

/**
 * AuthorizedClient is an OAuth client with the member who authorized it. The member ID is null for the operator token.
 */
export interface AuthorizedClient extends OAuthClientName {
  readonly memberId: string | null;
}

/**
 * Returns the row of a new key.
 * @param client the OAuth client that the key is for; null: a key with a secret
 */
export function newApiKeyRow(
  accountId: string,
  input: CreateApiKey,
  hint: string,
  client: AuthorizedClient | null,
  nowMs: number,
): ApiKeyTable {
  return {
    id: newId('key', nowMs),
    account_id: accountId,
    external_id: null,
    metadata: null,
    ...columnsOf(input),
    status: 'active',
    hint,
    grant_period: 0,
    grant_amount: 0,
    last_used_at: null,
    created_at: nowMs,
    updated_at: nowMs,
    revoked_at: null,
    version: 1,
    oauth_client_id: client?.id ?? null,
    oauth_client_name: client?.name ?? null,
    oauth_member_id: client?.memberId ?? null,
    previous_secret_expires_at: null,
  };
}

/** Converts a row to an `ApiKey`. A key past its expiration is `expired`, even if paused, unless the key is revoked. */
export function apiKeyOf(row: ApiKeyTable, nowMs: number): ApiKey {
  const isExpired = row.expires_at !== null && row.expires_at <= nowMs;
  return {
    id: row.id,
    accountId: row.account_id,
    ...settingsOf(row),
    status: row.status !== 'revoked' && isExpired ? 'expired' : row.status,
    expiresAt: row.expires_at,
    hint: row.hint,
    previousSecretExpiresAt: previousSecretEnd(row, nowMs),
    grant: { month: row.grant_period, amount: row.grant_amount },
    lastUsedAt: row.last_used_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    revokedAt: row.revoked_at,
    version: row.version,
    oauthClient: letInClientOf(row),
  };
}

/**
 * Returns when the previous secret stops working, in milliseconds since the epoch. Null if no previous secret works.
 */
export function previousSecretEnd(
  {
    status,
    expires_at: keyEndMs,
    previous_secret_expires_at: overlapEndMs,
  }: Pick<ApiKeyTable, 'status' | 'expires_at' | 'previous_secret_expires_at'>,
  nowMs: number,
): number | null {
  if (status === 'revoked' || overlapEndMs === null) return null;
  const endMs = Math.min(overlapEndMs, keyEndMs ?? Infinity);
  return endMs > nowMs ? endMs : null;
}

function letInClientOf(row: ApiKeyTable): AuthorizedClient | null {
  const client = oauthClientOf(row);
  return client && { ...client, memberId: row.oauth_member_id };
}

function oauthClientOf({ oauth_client_id: id, oauth_client_name: name }: ApiKeyTable): OAuthClientName | null {
  return id === null ? null : { id, name: name ?? id };
}

/**
 * Reads the current names of the members who authorized the OAuth clients of keys, by member ID. Erased members have no
 * entry. Runs no query if no key belongs to a client.
 */
export async function readAuthorizers(
  db: Kysely<Tables>,
  keys: readonly Pick<ApiKey, 'oauthClient'>[],
): Promise<ReadonlyMap<string, string>> {
  const ids = keys.flatMap(({ oauthClient }) => oauthClient?.memberId ?? []);
  if (ids.length === 0) return new Map();
  const members = db.selectFrom('member').select(['id', 'name']).where('name', '<>', '');
  const rows = await members.where('id', 'in', [...new Set(ids)]).execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/**
 * Returns the fields of a key that the audit log records, with the names of the API. A change of any other field is not
 * detected.
 */
export function auditedKey(row: ApiKeyTable): AuditedFields {
  return {
    ...settingsOf(row),
    status: row.status,
    expires_at: formatTimestamp(row.expires_at),
    hint: row.hint,
    ...(row.oauth_client_id === null ? {} : { oauth_client: oauthClientOf(row) }),
  };
}

/** Formats a time in UTC (RFC 3339), as in the audit log. Returns null for null. */
export function formatTimestamp(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** Reads the row of a key and locks the row until the transaction ends. Rejects with `resource_not_found`. */
export async function lockApiKey(
  trx: Transaction<Tables>,
  kind: DatabaseHandle['kind'],
  id: string,
): Promise<ApiKeyTable> {
  const query = trx
    .selectFrom('api_key')
    .selectAll()
    .where('id', '=', id)
    .$if(kind === 'postgres', (select) => select.forUpdate());
  return (await query.executeTakeFirst()) ?? apiKeyNotFound();
}

/** Stores the hash of a new secret of a key. The secret works until a rotation sets its expiration. */
export async function insertSecret(
  trx: Transaction<Tables>,
  keyId: string,
  secret: string,
  nowMs: number,
): Promise<void> {
  const row = {
    hash: hashSecret(secret),
    api_key_id: keyId,
    created_at: nowMs,
    expires_at: null,
    last_used_at: null,
    last_used_ip: null,
    is_foreign: null,
  };
  await trx.insertInto('api_key_secret').values(row).execute();
}

export function apiKeyNotFound(): never {
  throw new Problem('resource_not_found', { detail: 'Not found. No API key has this id.' });
}
