/** Informs the owners of an account by email that a webhook endpoint was disabled. */
import type { Transaction } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import type { WebhookEndpointTable } from '../../stores/database/tables/webhook-tables.js';
import { addNotice } from '../../mail/mail-outbox.js';

/** Queues an email to each active owner, in the transaction that disables the endpoint. */
export async function mailDisabled(
  trx: Transaction<Tables>,
  { id: endpointId, account_id: accountId, url }: WebhookEndpointTable,
  reason: 'gone' | 'failing',
  nowMs: number,
): Promise<void> {
  const owners = await trx
    .selectFrom('account_member')
    .innerJoin('member', 'member.id', 'account_member.member_id')
    .innerJoin('account', 'account.id', 'account_member.account_id')
    .select(['member.name', 'member.email', 'member.locale', 'account.name as account_name'])
    .where('account_member.account_id', '=', accountId)
    .where('account_member.role', '=', 'owner')
    .where('member.status', '=', 'active')
    .where('member.removed_at', 'is', null)
    .execute();
  for (const { name, email, locale, account_name: accountName } of owners) {
    const { host } = new URL(url);
    const content = { kind: 'webhook_disabled', accountId, accountName, endpointId, host, reason } as const;
    await addNotice(trx, { to: { name, address: email }, locale: locale ?? 'en', content }, nowMs);
  }
}
