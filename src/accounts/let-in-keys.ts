/**
 * Keys that a person has let an OAuth client in by. What they have said yes to, asked again who they are, is the most
 * that such a key may ever do: whoever may change keys makes less of it, and no more.
 */
import type { Transaction } from 'kysely';
import type { ApiKeyTable, Tables } from '../database/schema.js';
import { parseStrings } from '../keys/api-key-columns.js';
import { Problem } from '../problems/errors.js';

const DAY_MS = 86_400_000;

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
  const errors: { pointer: string; detail: string }[] = [];
  if (after.scopes !== before.scopes) {
    const granted = new Set([...(await grantedScopes(trx, before.id)), ...parseStrings(before.scopes)]);
    for (const [index, scope] of parseStrings(after.scopes).entries()) {
      if (!granted.has(scope)) errors.push({ pointer: `#/scopes/${index}`, detail: `${scope} ${NOT_GRANTED}` });
    }
  }
  const latest = Math.max(before.created_at + longestMs, before.expires_at ?? Infinity);
  if ((after.expires_at ?? Infinity) > latest) {
    const days = Math.floor(longestMs / DAY_MS);
    const detail = `must be at most ${days} days after the client was let in: ${new Date(latest).toISOString()}`;
    errors.push({ pointer: '#/expires_at', detail });
  }
  if (errors.length > 0) throw new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
}

const NOT_GRANTED = 'was not granted when the client was let in: it has to connect once more';

/** What the key was made with: that stands in the audit log. */
async function grantedScopes(trx: Transaction<Tables>, keyId: string): Promise<readonly string[]> {
  const entry = await trx
    .selectFrom('audit_entry')
    .select('after')
    .where('target_id', '=', keyId)
    .where('target_version', '=', 1)
    .executeTakeFirst();
  const { scopes = [] } = JSON.parse(entry?.after ?? '{}') as { readonly scopes?: readonly string[] };
  return scopes;
}
