/** Who may make whom what, beyond the table of permissions: nobody gives or takes more than they have. */
import { Problem } from '../platform/problems/errors.js';
import { mayGive, type Giver, type Role } from './permissions.js';

/** Throws `forbidden` where the giver may not give or take one of these roles. */
export function checkMayGive(giver: Giver, ...roles: readonly Role[]): void {
  if (mayGive(giver, ...roles)) return;
  throw new Problem('forbidden', {
    detail: 'Only owners make somebody an owner, or take that away.',
    requiredRoles: ['owner'],
  });
}

/** Throws `last_owner` where nobody would be left who may everything in the account. */
export function checkOwnerStays(ownersLeft: number): void {
  if (ownersLeft > 0) return;
  throw new Problem('last_owner', { detail: 'This is the last owner of the account. Make somebody else one first.' });
}
