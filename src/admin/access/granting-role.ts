/** Determines the caller's role in an account, which limits the member roles that the caller can grant or change. */
import { Injectable } from '@nestjs/common';
import { AccountMembers } from '../../members/account-members.js';
import type { CallerAccess } from '../../members/permissions.js';
import { Problem } from '../../platform/problems/errors.js';
import { isOperator, type Principal } from './principal.js';

@Injectable()
export class GrantingRoles {
  constructor(private readonly members: AccountMembers) {}

  /**
   * Returns the caller's role in an account, or `operator`. Rejects with `resource_not_found` if the caller is neither
   * an operator nor a member of the account.
   */
  async find(principal: Principal, accountId: string): Promise<CallerAccess> {
    if (isOperator(principal)) return 'operator';
    const role = principal.kind === 'member' ? await this.members.roleOf(accountId, principal.member.id) : undefined;
    if (role !== undefined) return role;
    throw new Problem('resource_not_found', {
      detail: 'Not found. The id does not exist or belongs to another account.',
    });
  }
}
