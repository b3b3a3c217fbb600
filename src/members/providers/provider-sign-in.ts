/**
 * Completes a sign-in at an identity provider, depending on its purpose. It starts a session, links the identity to the
 * member, or confirms the current session.
 */
import type { ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import type { AccessChanges } from '../credential-ends.js';
import { lockMemberWithLiveSession, type Sessions } from '../sessions.js';
import type { Browser, SignedInMember, SignIn } from '../sign-in/sign-in.js';
import type { Identities } from './identities.js';
import { applyOperatorClaim } from './operator-claims.js';
import type { ProviderArrival } from './providers.js';

/** ProviderSignIn completes sign-ins, except those that accept an invitation (`ProviderInvitations`). */
export class ProviderSignIn {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly identities: Identities,
    private readonly sessions: Sessions,
    private readonly signIn: SignIn,
    private readonly access: AccessChanges,
  ) {}

  /**
   * Signs in the member who has linked this identity. The email address is ignored, because it can be reassigned.
   * @throws Problem `identity_unknown` if no member has linked the identity; `invalid_credentials` if the member is
   * disabled
   */
  async signInMember({ identity }: ProviderArrival, browser: Browser): Promise<SignedInMember> {
    const { kind } = this.database;
    const signedIn = await this.access.run(async (access) => {
      const { trx } = access;
      const memberId = await this.identities.findMemberAndRecordUse(identity, trx);
      if (memberId === null) return null;
      await applyOperatorClaim(access, kind, memberId, identity, browser, this.clock.now());
      return this.signIn.startSession(memberId, 'oidc', browser, { trx });
    });
    if (signedIn !== null) return signedIn;
    this.signIn.recordFailedSignIn(null, 'oidc', browser);
    throw new Problem('identity_unknown', { detail: 'No member has linked this identity.' });
  }

  /**
   * Links the identity to the signed-in member.
   * @throws Problem `conflict` if another member has linked the identity; `session_ended` if the member's session has
   * ended
   */
  async linkIdentity(
    { identity, memberId }: ProviderArrival,
    sessionId: string,
    context: ChangeContext,
  ): Promise<void> {
    if (memberId === null) throw new Error('an identity is linked to somebody');
    const { db, kind } = this.database;
    await db.transaction().execute(async (trx) => {
      await lockMemberWithLiveSession(trx, kind, memberId, sessionId);
      await this.identities.linkIdentity(trx, memberId, identity, context);
    });
  }

  /**
   * Records that the member confirmed their session with an identity that they have linked.
   * @throws Problem `invalid_credentials` if the member has not linked the identity; `session_ended` if the session has
   * ended
   */
  async confirmSession({ identity, memberId }: ProviderArrival, sessionId: string, browser: Browser): Promise<void> {
    const isTheirs = await this.identities.useOwn(identity, memberId ?? '');
    if (!isTheirs) {
      this.signIn.recordFailedSignIn(memberId, 'oidc', browser);
      throw new Problem('invalid_credentials', { detail: 'You have not linked this identity.' });
    }
    if ((await this.sessions.recordConfirmation(sessionId)) === undefined) throw new Problem('session_ended');
  }
}
