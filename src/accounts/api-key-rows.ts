/** API keys as rows, as the control plane shows them, and as the audit log keeps them. */
import type { Transaction } from 'kysely';
import type { DatabaseHandle } from '../database/connect.js';
import type { ApiKeyTable, Tables } from '../database/schema.js';
import { Problem } from '../problems/errors.js';
import type { KeyLimits, MonthGrant } from '../limits/model/effective-limits.js';
import { parseLimits, parseStrings } from '../keys/api-key-columns.js';
import type { AuditedFields } from './audit-log.js';

/** A key as it is managed: everything but its secret. */
export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly environment: 'live' | 'test';
  readonly status: 'active' | 'paused' | 'expired' | 'revoked';
  readonly expiresAt: number | null;
  readonly allowedIps: readonly string[];
  readonly hint: string;
  /** In the place of the plan's; null: the plan's. */
  readonly limits: KeyLimits | null;
  /** On top of its month limit. */
  readonly grant: MonthGrant;
  readonly lastUsedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly revokedAt: number | null;
  /** Grows with every change that a person makes. */
  readonly version: number;
}

/** The key as it is at this moment: one that is not revoked and whose time has come is `expired`, paused or not. */
export function apiKeyOf(row: ApiKeyTable, nowMs: number): ApiKey {
  const isExpired = row.expires_at !== null && row.expires_at <= nowMs;
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    scopes: parseStrings(row.scopes),
    environment: row.environment,
    status: row.status !== 'revoked' && isExpired ? 'expired' : row.status,
    expiresAt: row.expires_at,
    allowedIps: parseStrings(row.allowed_ips),
    hint: row.hint,
    limits: parseLimits(row.limits),
    grant: { month: row.grant_period, amount: row.grant_amount },
    lastUsedAt: row.last_used_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    revokedAt: row.revoked_at,
    version: row.version,
  };
}

/**
 * The fields of a key that the audit log keeps, by the names of the API: every one that can be changed, since a change
 * that is not seen here is not written.
 */
export function auditedKey(row: ApiKeyTable): AuditedFields {
  return {
    name: row.name,
    scopes: parseStrings(row.scopes),
    environment: row.environment,
    status: row.status,
    expires_at: timestamp(row.expires_at),
    allowed_ips: parseStrings(row.allowed_ips),
    hint: row.hint,
    limits: parseLimits(row.limits),
  };
}

/** UTC, as the log keeps times; null stays null. */
export function timestamp(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** The key's row, held until the transaction ends. Rejects with `resource_not_found`. */
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

export function apiKeyNotFound(): never {
  throw new Problem('resource_not_found', { detail: 'There is no API key with this id.' });
}
