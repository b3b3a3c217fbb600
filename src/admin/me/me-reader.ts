/** Builds the `Me` resource for every kind of caller: member, portal session, account token or operator token. */
import { Injectable } from '@nestjs/common';
import { AccountStore } from '../../accounts/accounts.js';
import { MemberStore, type OwnAccount } from '../../members/members.js';
import { SignInMethods } from '../../members/sign-in-methods.js';
import type { Role } from '../../members/permissions.js';
import { csrfTokenOf } from '../../members/session-token.js';
import type { Principal } from '../access/principal.js';
import { MAX_ACCOUNTS, ownAccounts, ownMember, ownPortal, ownSession, type MeResource } from './me.resource.js';

@Injectable()
export class MeReader {
  constructor(
    private readonly members: MemberStore,
    private readonly accounts: AccountStore,
    private readonly signInMethods: SignInMethods,
  ) {}

  async read(principal: Principal): Promise<MeResource> {
    switch (principal.kind) {
      case 'member': {
        const { member, session, cookie } = principal;
        const [stored, methods, accounts] = await Promise.all([
          this.members.get(member.id),
          this.signInMethods.findMethods(member.id),
          this.members.accountsOf(member.isOperator ? 'operator' : { memberId: member.id }, MAX_ACCOUNTS),
        ]);
        return {
          // Use the session's value. Outside the operator networks, members have no operator rights.
          member: ownMember(
            { ...stored, isOperator: member.isOperator },
            methods,
            this.signInMethods.canSignIn(methods),
          ),
          portal: null,
          ...ownAccounts(accounts),
          csrf_token: csrfTokenOf(cookie),
          session: ownSession(session, false),
        };
      }
      case 'portal': {
        const { portal, session, cookie } = principal;
        return {
          member: null,
          portal: ownPortal(portal),
          ...ownAccounts([await this.account(portal.accountId, portal.role)]),
          csrf_token: csrfTokenOf(cookie),
          session: ownSession(session, true),
        };
      }
      case 'token':
        return tokenResource([await this.account(principal.token.accountId, principal.token.role)]);
      default:
        return tokenResource(await this.members.accountsOf('operator', MAX_ACCOUNTS));
    }
  }

  private async account(id: string, role: Role): Promise<OwnAccount> {
    const { name, status } = await this.accounts.get(id);
    return { id, name, status, role };
  }
}

/** Returns the resource for a token, which has no member and no session. */
function tokenResource(accounts: readonly OwnAccount[]): MeResource {
  return { member: null, portal: null, ...ownAccounts(accounts), csrf_token: null, session: null };
}
