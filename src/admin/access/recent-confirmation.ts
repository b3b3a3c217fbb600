/**
 * Checks that a member has confirmed their identity in the last ten minutes, for changes that widen access. Creates the
 * problem `confirmation_required`, which names the available confirmation methods.
 */
import { Inject, Injectable } from '@nestjs/common';
import { FirstOwner } from '../../members/first-owner.js';
import { SignInMethods } from '../../members/sign-in-methods.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import type { Principal, SignedInMember } from './principal.js';

/** How long a confirmation is valid, in milliseconds. */
export const CONFIRMED_MS = 10 * 60_000;

const CONFIRMATION_TOO_OLD =
  'Confirm your identity first. This gives access, and your last confirmation was more ' + 'than ten minutes ago.';
const CONFIRM_BEFORE_FIRST_PASSKEY =
  'Confirm your identity first. A session opened by a password needs a confirmation to add its ' + 'first passkey.';
const NO_CONFIRMATION_METHOD =
  'You have nothing to confirm your identity with. Sign in again and add a passkey, a password or ' +
  'an identity provider within ten minutes.';

/** Nest injection token of the clock. */
export const CLOCK = Symbol('Clock');

/** RecentConfirmation checks when the caller last confirmed their identity in the current session. */
@Injectable()
export class RecentConfirmation {
  constructor(
    private readonly signInMethods: SignInMethods,
    private readonly firstOwner: FirstOwner,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Rejects with the problem that `refusal` returns, if any. */
  async check(principal: Principal): Promise<void> {
    const refusal = await this.refusal(principal);
    if (refusal !== null) throw refusal;
  }

  /**
   * Returns the problem `confirmation_required` if the caller must confirm their identity before a change that widens
   * access, else null. Tokens are exempt, because programs cannot confirm. Portal sessions are exempt, because they
   * last at most an hour. So is the demo's operator without a confirmation method.
   */
  async refusal(principal: Principal): Promise<Problem | null> {
    if (principal.kind !== 'member') return null;
    const { session } = principal;
    // If the clock was ahead, `confirmedAt` can be in the future. Without `Math.abs`, the confirmation would stay valid
    // for too long.
    if (Math.abs(this.clock.now() - session.confirmedAt) < CONFIRMED_MS) return null;
    return this.refused(principal, CONFIRMATION_TOO_OLD);
  }

  /**
   * Checks whether a session may add the member's first passkey (NIST SP 800-63B-4). Rejects with
   * `confirmation_required` if a password opened the session, no confirmation followed, and the member has no
   * authenticator app. Otherwise, an attacker with a stolen password could register a passkey.
   */
  async checkFirstPasskey(principal: SignedInMember): Promise<void> {
    const { member, session } = principal;
    if (session.method !== 'password' || session.confirmedAt !== session.createdAt) return;
    const { passkeys, totp } = await this.signInMethods.findMethods(member.id);
    const refused = passkeys > 0 || totp ? null : await this.refused(principal, CONFIRM_BEFORE_FIRST_PASSKEY);
    if (refused !== null) throw refused;
  }

  /**
   * Returns the problem `confirmation_required` with the available methods. Returns null if the caller is the demo's
   * operator and has no method.
   */
  private async refused({ member, session }: SignedInMember, detail: string): Promise<Problem | null> {
    const methods = await this.signInMethods.findConfirmationMethods(member.id, session.method);
    // The demo's operator signs in with a link, and usually has no confirmation method.
    if (methods.length === 0 && (await this.firstOwner.isDemo(member.id))) return null;
    return new Problem('confirmation_required', {
      detail: methods.length > 0 ? detail : NO_CONFIRMATION_METHOD,
      confirmWith: methods,
    });
  }
}
