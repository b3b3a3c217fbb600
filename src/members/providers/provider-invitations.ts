/** Accepts invitations by a sign-in at an identity provider that has verified the invited address. */
import type { Transaction } from 'kysely';
import type { ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { Tables } from '../../stores/database/schema.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import { joinAccount } from '../account-members.js';
import type { AccessChanges } from '../credential-ends.js';
import { emailKeyOf } from '../member-fields.js';
import { memberByEmail } from '../member-rows.js';
import { addMember } from '../new-members.js';
import { dataOf, findLink, linkEnded, consumeLink, type LinkRow } from '../links.js';
import type { Browser, SignedInMember, SignIn } from '../sign-in/sign-in.js';
import type { Identities } from './identities.js';
import { applyOperatorClaim } from './operator-claims.js';
import type { ProviderIdentity } from './provider-identity.js';
import type { ProviderArrival } from './providers.js';

/** Invited holds the fields of an invitation link that an acceptance needs. */
interface Invited {
  readonly accountId: string;
  readonly role: NonNullable<LinkRow['role']>;
  readonly email: string;
  readonly emailKey: string;
}

/** ProviderInvitations accepts invitations for identities, and creates members for new identities. */
export class ProviderInvitations {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly identities: Identities,
    private readonly signIn: SignIn,
    private readonly access: AccessChanges,
  ) {}

  /**
   * Checks an invitation link without using it. Returns the hash of the link, to which the caller binds the sign-in.
   * @throws Problem `link_ended`
   */
  async findInvitationHash(token: string): Promise<string> {
    const link = await findLink(this.database.db, token, this.clock.now());
    invitationOf(link);
    return link.hash;
  }

  /**
   * Accepts the invitation for the identity's member, or for a new member, and starts a session.
   * @throws Problem `link_ended`, `already_a_member`; `resource_not_found` if the account is being deleted
   * @throws Problem `identity_unknown` if the provider does not verify the invited address
   * @throws Problem `missing_credentials` if another member has the address and has not linked the identity
   */
  async acceptInvitation({ identity, linkHash }: ProviderArrival, browser: Browser): Promise<SignedInMember> {
    if (linkHash === null) throw new Error('acceptInvitation needs the link hash of the sign-in');
    const { kind } = this.database;
    return this.access.run(async (access) => {
      const { trx } = access;
      const now = this.clock.now();
      const invited = invitationOf(await consumeLink(trx, linkHash, now));
      if (!hasInvitedAddress(identity, invited)) throw notInvited();
      const memberId =
        (await this.identities.findMemberAndRecordUse(identity, trx)) ??
        (await this.createMember(trx, identity, invited, browser));
      const { accountId, role } = invited;
      await joinAccount(trx, accountId, memberId, role, contextOf(memberId, browser), now);
      await applyOperatorClaim(access, kind, memberId, identity, browser, now);
      return this.signIn.startSession(memberId, 'oidc', browser, { trx });
    });
  }

  /**
   * Creates a member with the invited address and this identity. An email address alone never links an identity to an
   * existing member.
   */
  private async createMember(
    trx: Transaction<Tables>,
    identity: ProviderIdentity,
    { email, emailKey }: Invited,
    browser: Browser,
  ): Promise<string> {
    if ((await memberByEmail(trx, emailKey)) !== undefined) throw signInFirst();
    const name = identity.name ?? email.slice(0, email.lastIndexOf('@'));
    const member = { email, name, isOperator: false, password: null, locale: null };
    const { id } = await addMember(
      trx,
      member,
      (memberId) => contextOf(memberId, browser),
      signInFirst,
      this.clock.now(),
    );
    await this.identities.linkIdentity(trx, id, identity, contextOf(id, browser));
    return id;
  }
}

function invitationOf(link: LinkRow): Invited {
  const { kind, account_id: accountId, role, email_key: emailKey } = link;
  if (kind !== 'invitation' || accountId === null || role === null || emailKey === null) throw linkEnded();
  const { email } = dataOf(link);
  return { accountId, role, emailKey, email: typeof email === 'string' ? email : emailKey };
}

function hasInvitedAddress({ email, isEmailVerified }: ProviderIdentity, { emailKey }: Invited): boolean {
  return email !== null && isEmailVerified && emailKeyOf(email) === emailKey;
}

function notInvited(): Problem {
  return new Problem('identity_unknown', {
    detail: 'The invitation is for another address than the one that the provider has verified for you.',
  });
}

function signInFirst(): Problem {
  return new Problem('missing_credentials', {
    detail: 'A member has this address. Sign in as that member first, then open the link again.',
  });
}

function contextOf(memberId: string, { ip, requestId }: Browser): ChangeContext {
  return { actor: memberId, ip, requestId };
}
