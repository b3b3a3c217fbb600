/** Whom an identity provider makes an operator: its word counts with each sign-in there. */
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { AccessChange } from '../credential-ends.js';
import { updateMemberRow } from '../member-admin.js';
import { lockMember } from '../member-rows.js';
import type { Browser } from '../sign-in/sign-in.js';
import type { ProviderIdentity } from './provider-identity.js';

/**
 * Makes a member an operator, or takes that away, as the provider says; nothing where it has no say. Sessions with the
 * rights from before end, and so do the credentials that the member may no longer make.
 * @param access the transaction of the sign-in, before its session begins.
 */
export async function applyOperatorClaim(
  access: AccessChange,
  kind: DatabaseHandle['kind'],
  memberId: string,
  { provider, isOperator }: ProviderIdentity,
  { ip, requestId }: Browser,
  nowMs: number,
): Promise<void> {
  if (isOperator === null) return;
  const before = await lockMember(access.trx, kind, memberId);
  await updateMemberRow(
    access,
    before,
    { is_operator: isOperator },
    { actor: `provider:${provider}`, ip, requestId },
    nowMs,
  );
}
