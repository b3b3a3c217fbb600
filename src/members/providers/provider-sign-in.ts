/** What it is worth here that somebody signed in at an identity provider: a session, or a link to who is signed in. */
import type { ChangeContext } from '../../accounts/audit-log.js';
import type { DatabaseHandle } from '../../database/connect.js';
import { Problem } from '../../problems/errors.js';
import type { Browser, SignedInMember, SignIn } from '../sign-in/sign-in.js';
import type { Identities } from './identities.js';
import type { ProviderArrival } from './providers.js';

/** ProviderSignIn signs in whom an identity belongs to. */
export class ProviderSignIn {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly identities: Identities,
    private readonly signIn: SignIn,
  ) {}

  /**
   * Signs in the member who has linked this identity. An address alone is nobody: it may be given to another person.
   * @throws Problem `identity_unknown`
   */
  async finish({ identity }: ProviderArrival, browser: Browser): Promise<SignedInMember> {
    const memberId = await this.identities.use(identity);
    if (memberId === null) {
      this.signIn.noteRefused(null, 'oidc', browser);
      throw new Problem('identity_unknown', { detail: 'Nobody here has linked this identity.' });
    }
    return await this.signIn.finish(memberId, 'oidc', browser);
  }

  /** Links the identity to who is signed in. @throws Problem `conflict` where it is somebody else's. */
  async link({ identity, memberId }: ProviderArrival, context: ChangeContext): Promise<void> {
    if (memberId === null) throw new Error('an identity is linked to somebody');
    await this.database.db
      .transaction()
      .execute(async (trx) => await this.identities.link(trx, memberId, identity, context));
  }
}
