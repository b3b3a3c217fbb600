/**
 * Changes a member's own password. The change ends every session of the member and starts a new session for the current
 * browser.
 */
import type { ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { Clock } from '../../platform/clock.js';
import type { MemberStore } from '../members.js';
import { lockMemberWithLiveSession, type BegunSession, type Session, type Sessions } from '../sessions.js';
import { setPassword, type NewPasswords } from './new-passwords.js';
import type { SignInNotices } from './sign-in-notices.js';
import type { Browser } from './sign-in.js';

/** PasswordChange changes the passwords of signed-in members. */
export class PasswordChange {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly members: MemberStore,
    private readonly newPasswords: NewPasswords,
    private readonly sessions: Sessions,
    private readonly notices: SignInNotices,
  ) {}

  /**
   * Changes the member's password.
   * @returns the new session of this browser
   * @throws Problem `validation_failed` for a password that breaks the rules, `session_ended` if a reset ended the
   * session, `sign_in_busy`
   */
  async change(
    memberId: string,
    password: string,
    { id: sessionId, method }: Pick<Session, 'id' | 'method'>,
    browser: Browser,
    context: ChangeContext,
  ): Promise<BegunSession> {
    const { email, name, hasTotp } = await this.members.get(memberId);
    const passwordHash = await this.newPasswords.hash(password, { email, name, hasSecondFactor: hasTotp });
    return this.database.db.transaction().execute(async (trx) => {
      await lockMemberWithLiveSession(trx, this.database.kind, memberId, sessionId);
      await setPassword(trx, this.database.kind, memberId, passwordHash, context, this.clock.now(), this.notices);
      return this.sessions.createSession({ memberId }, method, browser, undefined, trx);
    });
  }
}
