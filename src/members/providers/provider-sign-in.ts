/**
 * What it is worth here that somebody signed in at an identity provider: a session, a link to who is signed in, or a
 * fresh sign of who they are.
 */
import type { ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import type { AccessChanges } from '../credential-ends.js';
import { holdSession, type Sessions } from '../sessions.js';
import type { Browser, SignedInMember, SignIn } from '../sign-in/sign-in.js';
import type { Identities } from './identities.js';
import { applyOperatorClaim } from './operator-claims.js';
import type { ProviderArrival } from './providers.js';

/** ProviderSignIn signs in whom an identity belongs to. */
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
   * Signs in the member who has linked this identity. An address alone is nobody: it may be given to another person.
   * @throws Problem `identity_unknown`
   */
  async finish({ identity }: ProviderArrival, browser: Browser): Promise<SignedInMember> {
    const { kind } = this.database;
    const signedIn = await this.access.run(async (access) => {
      const { trx } = access;
      const memberId = await this.identities.use(identity, trx);
      if (memberId === null) return null;
      await applyOperatorClaim(access, kind, memberId, identity, browser, this.clock.now());
      return this.signIn.finish(memberId, 'oidc', browser, { trx });
    });
    if (signedIn !== null) return signedIn;
    this.signIn.noteRefused(null, 'oidc', browser);
    throw new Problem('identity_unknown', { detail: 'Nobody here has linked this identity.' });
  }

  /**
   * Links the identity to the member who is signed in.
   * @throws Problem `conflict` where it is somebody else's; `session_ended`
   */
  async link({ identity, memberId }: ProviderArrival, sessionId: string, context: ChangeContext): Promise<void> {
    if (memberId === null) throw new Error('an identity is linked to somebody');
    const { db, kind } = this.database;
    await db.transaction().execute(async (trx) => {
      await holdSession(trx, kind, memberId, sessionId);
      await this.identities.link(trx, memberId, identity, context);
    });
  }

  /**
   * Notes that the person of a session has shown that it is them, by an identity that is theirs.
   * @throws Problem `invalid_credentials` for that of somebody else, or of nobody; `session_ended`
   */
  async confirm({ identity, memberId }: ProviderArrival, sessionId: string, browser: Browser): Promise<void> {
    const isTheirs = await this.identities.useOwn(identity, memberId ?? '');
    if (!isTheirs) {
      this.signIn.noteRefused(memberId, 'oidc', browser);
      throw new Problem('invalid_credentials', { detail: 'This identity is not one that you have linked.' });
    }
    if ((await this.sessions.confirm(sessionId)) === undefined) throw new Problem('session_ended');
  }
}
