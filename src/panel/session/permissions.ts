/**
 * Decides what the signed-in user can do, from the same table that the API enforces. The panel only hides controls. The
 * API checks each request again.
 */
import { isRead, OPERATIONS, type OperationId } from '../../admin/openapi/operations.js';
import { canGrant, type CallerAccess, type Role } from '../../members/permissions.js';
import type { Me } from '../api/schemas.js';

/**
 * Reports whether the user can call an operation. `accountId` matters only for operations on an account. Null means no
 * account.
 */
export function mayCall(me: Me, operation: OperationId, accountId: string | null): boolean {
  const { about, roles, portal, limitedPortal } = OPERATIONS[operation].permission;
  if (me.member?.is_operator === true) return true;
  if (me.portal !== null && !portal) return false;
  if (me.portal?.scopes != null && limitedPortal === 'no') return false;
  if (about === 'installation') return false;
  if (about !== 'account') return true;
  const role: Role | undefined = me.accounts.find(({ id }) => id === accountId)?.role;
  return role !== undefined && roles.includes(role);
}

/**
 * Reports whether the user can call an operation while the account is suspended. Members can then only read the
 * account. Operators can also make changes.
 */
export function maySuspended(me: Me, operation: OperationId): boolean {
  const row = OPERATIONS[operation];
  return row.permission.about !== 'account' || isRead(row) || me.member?.is_operator === true;
}

/** Reports whether the user can assign this role in the account, and take the role away. */
export function mayGiveThere(me: Me, accountId: string, role: Role): boolean {
  const own: Role | undefined = me.accounts.find(({ id }) => id === accountId)?.role;
  const callerAccess: CallerAccess | undefined = me.member?.is_operator === true ? 'operator' : own;
  return callerAccess !== undefined && canGrant(callerAccess, role);
}
