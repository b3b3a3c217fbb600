/**
 * Limits changes to the keys of OAuth clients. A key can have at most the scopes that a person granted to the client,
 * and at most the configured lifetime.
 */
import type { Kysely, Transaction } from 'kysely';
import type { ApiKeyTable, Tables } from '../stores/database/schema.js';
import { parseStrings } from '../keys/api-key-columns.js';
import { Problem } from '../platform/problems/errors.js';
import type { ApiKey } from './api-key-rows.js';

const DAY_MS = 86_400_000;

/** OAuthGrant is the maximum access of the key of an OAuth client. */
export interface OAuthGrant {
  /** The scopes that a person granted at the authorization, and the key's current scopes. */
  readonly scopes: readonly string[];
  /** Latest expiration in milliseconds since the epoch. Null if the key does not expire. */
  readonly latestExpiresAt: number | null;
}

/**
 * Reads the maximum access of a key.
 * @param longestMs maximum lifetime of a client's access, in milliseconds
 */
export async function readGrant(
  db: Kysely<Tables>,
  key: Pick<ApiKey, 'id' | 'scopes' | 'createdAt' | 'expiresAt'>,
  longestMs: number,
): Promise<OAuthGrant> {
  return {
    scopes: [...new Set([...key.scopes, ...(await grantedScopes(db, key.id))])],
    latestExpiresAt: key.expiresAt === null ? null : Math.max(key.createdAt + longestMs, key.expiresAt),
  };
}

/**
 * Checks a change of a key. Rejects with `validation_failed` if the key belongs to an OAuth client and would get scopes
 * that were not granted, or an expiration after the maximum. The current values are always allowed.
 * @param longestMs maximum lifetime of a client's access, in milliseconds
 */
export async function checkClientKey(
  trx: Transaction<Tables>,
  before: ApiKeyTable,
  after: ApiKeyTable,
  longestMs: number,
): Promise<void> {
  if (before.oauth_client_id === null) return;
  const { id, created_at: createdAt, expires_at: expiresAt } = before;
  const key = { id, scopes: parseStrings(before.scopes), createdAt, expiresAt };
  const { scopes, latestExpiresAt } = await readGrant(trx, key, longestMs);
  const errors = parseStrings(after.scopes).flatMap((scope, index) =>
    scopes.includes(scope) ? [] : [{ pointer: `#/scopes/${index}`, detail: `${scope} ${NOT_GRANTED}` }],
  );
  if (latestExpiresAt !== null && (after.expires_at ?? Infinity) > latestExpiresAt) {
    const days = Math.floor(longestMs / DAY_MS);
    const latest = new Date(latestExpiresAt).toISOString();
    const detail = `must be at most ${days} days after the client was authorized: ${latest}`;
    errors.push({ pointer: '#/expires_at', detail });
  }
  if (errors.length > 0) throw new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
}

const NOT_GRANTED = 'was not granted when the client was authorized: connect it again';

/**
 * Reads the scopes with which the key was created, from the audit log. Empty if the audit log has no entry of the
 * creation.
 */
async function grantedScopes(db: Kysely<Tables>, keyId: string): Promise<readonly string[]> {
  const entry = await db
    .selectFrom('audit_entry')
    .select('after')
    .where('target_id', '=', keyId)
    .where('target_version', '=', 1)
    .executeTakeFirst();
  const { scopes = [] } = JSON.parse(entry?.after ?? '{}') as { readonly scopes?: readonly string[] };
  return scopes;
}
