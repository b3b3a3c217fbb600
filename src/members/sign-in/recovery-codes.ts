/** Recovery codes: what a member without their authenticator app signs in with, each of them once. */
import { createHash, randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';

/** Given out together; new ones end the old ones. */
export const RECOVERY_CODES = 10;
/** 80 bits: with so many, SHA-256 without a salt keeps them as well as a slow hash would. */
const CODE_LENGTH = 16;
/** Crockford's base 32 in lower case: no i, l, o, u to misread. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const READ_AS: Readonly<Record<string, string>> = { i: '1', l: '1', o: '0' };

/** Makes codes that were never seen before, as `k3f9-0xqz-71mb-w4ne`. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const characters = Array.from(randomBytes(CODE_LENGTH), (byte) => ALPHABET[byte & 31]).join('');
    return characters.replaceAll(/(.{4})(?=.)/g, '$1-');
  });
}

/** What is kept of a code; null for what cannot be one. Spaces, hyphens, capitals, letters for digits are let pass. */
export function recoveryCodeHash(typed: string): string | null {
  const plain = typed
    .toLowerCase()
    .replaceAll(/[\s-]/g, '')
    .replaceAll(/[ilo]/g, (letter) => READ_AS[letter] ?? letter);
  if (plain.length !== CODE_LENGTH || [...plain].some((character) => !ALPHABET.includes(character))) return null;
  return createHash('sha256').update(plain).digest('hex');
}

/** Puts new codes in the place of all that a member had, and returns them: they are not to be had again. */
export async function replaceRecoveryCodes(transaction: Kysely<Tables>, memberId: string): Promise<string[]> {
  const codes = newRecoveryCodes();
  await removeRecoveryCodes(transaction, memberId);
  const rows = codes.map((code) => ({ hash: recoveryCodeHash(code) ?? '', member_id: memberId, used_at: null }));
  await transaction.insertInto('recovery_code').values(rows).execute();
  return codes;
}

/** Ends all codes of a member. */
export async function removeRecoveryCodes(transaction: Kysely<Tables>, memberId: string): Promise<void> {
  await transaction.deleteFrom('recovery_code').where('member_id', '=', memberId).execute();
}

/** Takes a code of this member: true once, however many ask at the same time. */
export async function takeRecoveryCode(
  db: Kysely<Tables>,
  memberId: string,
  typed: string,
  nowMs: number,
): Promise<boolean> {
  const hash = recoveryCodeHash(typed);
  if (hash === null) return false;
  const { numUpdatedRows } = await db
    .updateTable('recovery_code')
    .set({ used_at: nowMs })
    .where('hash', '=', hash)
    .where('member_id', '=', memberId)
    .where('used_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** How many codes a member has left. */
export async function recoveryCodesLeft(db: Kysely<Tables>, memberId: string): Promise<number> {
  const { left } = await db
    .selectFrom('recovery_code')
    .select(({ fn }) => fn.countAll().as('left'))
    .where('member_id', '=', memberId)
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(left);
}
