/**
 * Withdraws open invitations that whoever made them might not make any more: who was removed, disabled or has another
 * role must not let anybody in through a link that they kept.
 */
import type { Transaction } from 'kysely';
import { recordChange, type ChangeContext } from '../accounts/audit-log.js';
import type { Tables } from '../database/schema.js';
import { mayGive, type Giver } from './permissions.js';

/** Give it the transaction that has changed what the member may. Only those of one account where that is named. */
export async function withdrawInvitationsOf(
  trx: Transaction<Tables>,
  memberId: string,
  context: ChangeContext,
  nowMs: number,
  accountId?: string,
): Promise<void> {
  let query = trx
    .selectFrom('link')
    .leftJoin('account_member', (join) =>
      join.onRef('account_member.account_id', '=', 'link.account_id').on('account_member.member_id', '=', memberId),
    )
    .select(['link.id', 'link.account_id', 'link.role', 'account_member.role as giver'])
    .where('link.kind', '=', 'invitation')
    .where('link.created_by', '=', memberId)
    .where('link.used_at', 'is', null)
    .where('link.revoked_at', 'is', null)
    .where('link.expires_at', '>', nowMs);
  if (accountId !== undefined) query = query.where('link.account_id', '=', accountId);
  const open = await query.execute();
  if (open.length === 0) return;
  const member = await trx
    .selectFrom('member')
    .select(['status', 'is_operator'])
    .where('id', '=', memberId)
    .executeTakeFirstOrThrow();
  for (const { id, account_id: ofAccount, role, giver } of open) {
    const is: Giver | null = member.status !== 'active' ? null : member.is_operator === 1 ? 'operator' : giver;
    if (is !== null && role !== null && mayGive(is, role)) continue;
    const update = trx.updateTable('link').set({ revoked_at: nowMs }).where('id', '=', id).where('used_at', 'is', null);
    if ((await update.executeTakeFirst()).numUpdatedRows === 0n) continue;
    const target = { accountId: ofAccount, targetType: 'invitation', targetId: id } as const;
    const change = { action: 'invitation.revoked', before: { status: 'open' }, after: { status: 'revoked' } } as const;
    // The response of the request tells of what was asked for, not of this.
    await recordChange(trx, { ...context, response: undefined }, { ...target, ...change }, nowMs);
  }
}
