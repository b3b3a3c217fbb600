/** Who is what in an account. The last owner stays. */
import type { Transaction } from 'kysely';
import { recordChange, type ChangeContext } from '../accounts/audit-log.js';
import type { Tables } from '../database/schema.js';
import { Problem } from '../problems/errors.js';
import type { Role } from './permissions.js';

/** Makes a member one of an account. Rejects with `already_a_member`. */
export async function joinAccount(
  trx: Transaction<Tables>,
  accountId: string,
  memberId: string,
  role: Role,
  context: ChangeContext,
  nowMs: number,
): Promise<void> {
  const inAccount = trx.selectFrom('account_member').select('role').where('account_id', '=', accountId);
  if ((await inAccount.where('member_id', '=', memberId).executeTakeFirst()) !== undefined) {
    throw new Problem('already_a_member', { detail: 'You are a member of this account already.' });
  }
  const times = { version: 1, created_at: nowMs, updated_at: nowMs };
  await trx
    .insertInto('account_member')
    .values({ account_id: accountId, member_id: memberId, role, ...times })
    .execute();
  const target = { accountId, targetType: 'member', targetId: memberId } as const;
  await recordChange(trx, context, { ...target, action: 'member.joined', before: null, after: { role } }, nowMs);
}
