/** Reads what the signed-in caller sees about themselves. */
import { Injectable } from '@nestjs/common';
import { AccountStore } from '../../accounts/accounts.js';
import { MemberStore, type OwnAccount } from '../../members/members.js';
import { OwnWays } from '../../members/ways.js';
import type { Role } from '../../members/permissions.js';
import { csrfTokenOf } from '../../members/session-token.js';
import type { Principal } from '../access/principal.js';
import { MOST_ACCOUNTS, ownAccounts, ownMember, ownPortal, ownSession, type MeResource } from './me.resource.js';

@Injectable()
export class MeReader {
  constructor(
    private readonly members: MemberStore,
    private readonly accounts: AccountStore,
    private readonly ways: OwnWays,
  ) {}

  async read(principal: Principal): Promise<MeResource> {
    switch (principal.kind) {
      case 'member': {
        const { member, session, cookie } = principal;
        const [stored, ways, accounts] = await Promise.all([
          this.members.get(member.id),
          this.ways.of(member.id),
          this.members.accountsOf(member.isOperator ? 'operator' : { memberId: member.id }, MOST_ACCOUNTS),
        ]);
        return {
          // Outside the operator networks, members have no operator rights.
          member: ownMember({ ...stored, isOperator: member.isOperator }, ways, this.ways.canSignIn(ways)),
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
        return program([await this.account(principal.token.accountId, principal.token.role)]);
      default:
        return program(await this.members.accountsOf('operator', MOST_ACCOUNTS));
    }
  }

  private async account(id: string, role: Role): Promise<OwnAccount> {
    const { name, status } = await this.accounts.get(id);
    return { id, name, status, role };
  }
}

function program(accounts: readonly OwnAccount[]): MeResource {
  return { member: null, portal: null, ...ownAccounts(accounts), csrf_token: null, session: null };
}
