/**
 * Keys that a person has let an OAuth client in by. What they have said yes to, asked again who they are, is the most
 * that such a key may ever do: whoever may change keys makes less of it, and no more.
 */
import type { Kysely, Transaction } from 'kysely';
import type { ApiKeyTable, Tables } from '../stores/database/schema.js';
import { parseStrings } from '../keys/api-key-columns.js';
import { Problem } from '../platform/problems/errors.js';
import type { ApiKey } from './api-key-rows.js';

const DAY_MS = 86_400_000;

/** LetInGrant is the most that a client's key may become. */
export interface LetInGrant {
  /** What was granted, and what it has. */
  readonly scopes: readonly string[];
  /** The latest end that it may have, in milliseconds since the epoch; null: any, and none. */
  readonly latestExpiresAt: number | null;
}

/**
 * Reads it.
 * @param longestMs the longest that a client may be let in for.
 */
export async function readGrant(
  db: Kysely<Tables>,
  key: Pick<ApiKey, 'id' | 'scopes' | 'createdAt' | 'expiresAt'>,
  longestMs: number,
): Promise<LetInGrant> {
  return {
    scopes: [...new Set([...key.scopes, ...(await grantedScopes(db, key.id))])],
    latestExpiresAt: key.expiresAt === null ? null : Math.max(key.createdAt + longestMs, key.expiresAt),
  };
}

/**
 * Checks a change of a key. Rejects with `validation_failed` where a client's would get scopes that nobody has granted
 * it, or an end later than it could have been let in until. What it has already is left to it.
 * @param longestMs the longest that a client may be let in for.
 */
export async function checkLetInKey(
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
    const detail = `must be at most ${days} days after the client was let in: ${latest}`;
    errors.push({ pointer: '#/expires_at', detail });
  }
  if (errors.length > 0) throw new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
}

const NOT_GRANTED = 'was not granted when the client was let in: it has to connect once more';

/** What the key was made with: that stands in the audit log. */
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
