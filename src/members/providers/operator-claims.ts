/** Whom an identity provider makes an operator: its word counts with each sign-in there. */
import type { Transaction } from 'kysely';
import type { DatabaseHandle } from '../../database/connect.js';
import type { Tables } from '../../database/schema.js';
import { updateMemberRow } from '../member-admin.js';
import { lockMember } from '../member-rows.js';
import type { Browser } from '../sign-in/sign-in.js';
import type { ProviderIdentity } from './provider-identity.js';

/**
 * Makes a member an operator, or takes that away, as the provider says; nothing where it has no say. Sessions with the
 * rights from before end. Give it the transaction of the sign-in, before its session begins.
 */
export async function applyOperatorClaim(
  trx: Transaction<Tables>,
  kind: DatabaseHandle['kind'],
  memberId: string,
  { provider, isOperator }: ProviderIdentity,
  { ip, requestId }: Browser,
  nowMs: number,
): Promise<void> {
  if (isOperator === null) return;
  const before = await lockMember(trx, kind, memberId);
  await updateMemberRow(
    trx,
    before,
    { is_operator: isOperator },
    { actor: `provider:${provider}`, ip, requestId },
    nowMs,
  );
}
