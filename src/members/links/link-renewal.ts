/**
 * Renews the token of a link. The mail worker renews the token when it sends the link's mail, so that no token is ever
 * stored.
 */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { createToken, hashToken } from '../session-token.js';

/**
 * Gives a link a new token and returns the token. The previous token no longer works. Returns undefined if the link is
 * used, revoked or expired.
 */
export async function renewLinkToken(db: Kysely<Tables>, linkId: string, nowMs: number): Promise<string | undefined> {
  const token = createToken();
  const { numUpdatedRows } = await db
    .updateTable('link')
    .set({ hash: hashToken(token) })
    .where('id', '=', linkId)
    .where('used_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .executeTakeFirst();
  return numUpdatedRows === 1n ? token : undefined;
}
