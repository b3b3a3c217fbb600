/** Creates and checks single-use recovery codes, with which members sign in who have lost their authenticator app. */
import { createHash, randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';

/** Number of recovery codes in a set. A new set replaces the previous set. */
export const RECOVERY_CODES = 10;
/**
 * Number of characters of a code, with 5 bits each. 80 random bits are safe with unsalted SHA-256, so a slow hash would
 * add nothing.
 */
const CODE_LENGTH = 16;
/** Crockford's base 32 in lower case, without the ambiguous i, l, o and u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
/** Digits for the letters that people may type instead of them. */
const READ_AS: Readonly<Record<string, string>> = { i: '1', l: '1', o: '0' };

/** Generates a set of random codes, such as `k3f9-0xqz-71mb-w4ne`. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const characters = Array.from(randomBytes(CODE_LENGTH), (byte) => ALPHABET[byte & 31]).join('');
    return characters.replaceAll(/(.{4})(?=.)/g, '$1-');
  });
}

/**
 * Hashes a code, or returns null if the text cannot be a code. Ignores spaces, hyphens and case, and reads i, l and o
 * as digits.
 */
export function recoveryCodeHash(typed: string): string | null {
  const plain = typed
    .toLowerCase()
    .replaceAll(/[\s-]/g, '')
    .replaceAll(/[ilo]/g, (letter) => READ_AS[letter] ?? letter);
  if (plain.length !== CODE_LENGTH || [...plain].some((character) => !ALPHABET.includes(character))) return null;
  return createHash('sha256').update(plain).digest('hex');
}

/**
 * Replaces all codes of a member and returns the new codes. Only hashes of the codes are stored, so the codes cannot be
 * read again.
 */
export async function replaceRecoveryCodes(transaction: Kysely<Tables>, memberId: string): Promise<string[]> {
  const codes = newRecoveryCodes();
  await removeRecoveryCodes(transaction, memberId);
  const rows = codes.map((code) => ({ hash: recoveryCodeHash(code) ?? '', member_id: memberId, used_at: null }));
  await transaction.insertInto('recovery_code').values(rows).execute();
  return codes;
}

/** Deletes all codes of a member. */
export async function removeRecoveryCodes(transaction: Kysely<Tables>, memberId: string): Promise<void> {
  await transaction.deleteFrom('recovery_code').where('member_id', '=', memberId).execute();
}

/**
 * Marks a member's code as used. Returns false if the code is wrong or was already used. Only one of several concurrent
 * calls with a code returns true.
 */
export async function consumeRecoveryCode(
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

/** Returns the number of the member's unused codes. */
export async function recoveryCodesLeft(db: Kysely<Tables>, memberId: string): Promise<number> {
  const { left } = await db
    .selectFrom('recovery_code')
    .select(({ fn }) => fn.countAll().as('left'))
    .where('member_id', '=', memberId)
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(left);
}
