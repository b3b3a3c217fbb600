/** Applies the operator rights in the claims of an identity provider to the member, at each sign-in. */
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { AccessChange } from '../credential-ends.js';
import { updateMemberRow } from '../member-admin.js';
import { lockMember } from '../member-rows.js';
import type { Browser } from '../sign-in/sign-in.js';
import type { ProviderIdentity } from './provider-identity.js';

/**
 * Grants or removes operator rights, as the provider's claim says. Does nothing if the provider has no `operators`
 * rule. A change ends the member's older sessions, and the credentials that the member may no longer create.
 * @param access the transaction of the sign-in, before the new session begins
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
