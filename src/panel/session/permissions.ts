/** What the person who is signed in may do: the same table that the API's guard reads. */
import { PERMISSIONS, type OperationId, type Permission, type Role } from '../../members/permissions.js';
import type { Me } from '../api/schemas.js';

/** Whether they may call this operation, about this account where it is about one. */
export function mayCall(me: Me, operation: OperationId, accountId: string | null): boolean {
  const { about, roles, portal }: Permission = PERMISSIONS[operation];
  if (me.member?.is_operator === true) return true;
  if (me.portal !== null && !portal) return false;
  if (about === 'installation') return false;
  if (about !== 'account') return true;
  const role: Role | undefined = me.accounts.find(({ id }) => id === accountId)?.role;
  return role !== undefined && roles.includes(role);
}
