/**
 * Checks rules for role changes that depend on the roles and owners involved, in addition to the permission of the
 * operation.
 */
import { Problem } from '../platform/problems/errors.js';
import { canGrant, type CallerAccess, type Role } from './permissions.js';

/** Throws `forbidden` if the caller may not grant or remove one of these roles. */
export function checkCanGrantRoles(callerAccess: CallerAccess, ...roles: readonly Role[]): void {
  if (canGrant(callerAccess, ...roles)) return;
  throw new Problem('forbidden', {
    detail: 'Only owners can add or remove owners.',
    requiredRoles: ['owner'],
  });
}

/** Throws `last_owner` if no other active owner of the account would remain. */
export function checkOwnerStays(ownersLeft: number): void {
  if (ownersLeft > 0) return;
  throw new Problem('last_owner', {
    detail: 'This is the last owner of the account. Make another member an owner first.',
  });
}
