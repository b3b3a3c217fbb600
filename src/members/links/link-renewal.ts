/** Gives a link another token: whoever sends it makes one that nobody else has seen, and that stands nowhere. */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { createToken, hashToken } from '../session-token.js';

/** The new token, in the place of the one before; undefined where the link does not work any more. */
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
