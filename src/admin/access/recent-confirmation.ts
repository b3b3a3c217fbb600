/**
 * Checks that a member has confirmed their identity recently. Changes that widen access require such a confirmation.
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

/** Injection token of the clock. */
export const CLOCK = Symbol('Clock');

/** Confirmed checks confirmations of the caller's session. */
@Injectable()
export class RecentConfirmation {
  constructor(
    private readonly ways: SignInMethods,
    private readonly firstOwner: FirstOwner,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Rejects with `confirmation_required` if the caller must confirm first; see `refusal`. */
  async check(principal: Principal): Promise<void> {
    const refusal = await this.refusal(principal);
    if (refusal !== null) throw refusal;
  }

  /**
   * Returns the problem `confirmation_required` for changes that widen access. Returns null if the caller may make such
   * changes. Tokens are exempt, because programs cannot confirm. Portal sessions are exempt, because they last at most
   * an hour.
   */
  async refusal(principal: Principal): Promise<Problem | null> {
    if (principal.kind !== 'member') return null;
    const { session } = principal;
    // A clock that is ahead can record a confirmation in the future. Such a confirmation must not stay valid until
    // then.
    if (Math.abs(this.clock.now() - session.confirmedAt) < CONFIRMED_MS) return null;
    return this.refused(principal, CONFIRMATION_TOO_OLD);
  }

  /**
   * Checks that a session opened by a password alone has confirmed before it adds the member's first passkey (NIST SP
   * 800-63B-4). Otherwise, an attacker with a stolen password could register a passkey. Rejects with
   * `confirmation_required`.
   */
  async checkFirstPasskey(principal: SignedInMember): Promise<void> {
    const { member, session } = principal;
    if (session.method !== 'password' || session.confirmedAt !== session.createdAt) return;
    const { passkeys, totp } = await this.ways.of(member.id);
    const refused = passkeys > 0 || totp ? null : await this.refused(principal, CONFIRM_BEFORE_FIRST_PASSKEY);
    if (refused !== null) throw refused;
  }

  /** Returns the problem with the available confirmation methods. Null for the demo's operator. */
  private async refused({ member, session }: SignedInMember, detail: string): Promise<Problem | null> {
    const ways = await this.ways.toConfirm(member.id, session.method);
    // The demo's operator signs in with a link, and has nothing to confirm with.
    if (ways.length === 0 && (await this.firstOwner.isDemo(member.id))) return null;
    return new Problem('confirmation_required', {
      detail: ways.length > 0 ? detail : NO_CONFIRMATION_METHOD,
      confirmWith: ways,
    });
  }
}
