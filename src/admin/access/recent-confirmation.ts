/** Checks that a member has confirmed their identity recently. Changes that widen access require it. */
import { Inject, Injectable } from '@nestjs/common';
import { FirstOwner } from '../../members/first-owner.js';
import { OwnWays } from '../../members/ways.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import type { Principal, SignedInMember } from './principal.js';

/** How long a confirmation is valid, in milliseconds. */
export const CONFIRMED_MS = 10 * 60_000;

const ASK =
  'Confirm your identity first. This gives access, and your last confirmation was more ' + 'than ten minutes ago.';
const ASK_FIRST_PASSKEY =
  'Confirm your identity first. A session opened by a password needs a confirmation to add its ' + 'first passkey.';
const NOTHING_TO_SHOW =
  'You have nothing to confirm your identity with. Sign in again and add a passkey, a password or ' +
  'an identity provider within ten minutes.';

/** Injection token of the clock. */
export const CLOCK = Symbol('Clock');

@Injectable()
export class Confirmed {
  constructor(
    private readonly ways: OwnWays,
    private readonly firstOwner: FirstOwner,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Rejects with `confirmation_required` if `refusal` returns one. */
  async check(principal: Principal): Promise<void> {
    const refusal = await this.refusal(principal);
    if (refusal !== null) throw refusal;
  }

  /**
   * Returns the `confirmation_required` for a change that widens access; null where the caller may make one.
   * Tokens are exempt, because programs cannot confirm. So are portal sessions: they last an hour at most.
   */
  async refusal(principal: Principal): Promise<Problem | null> {
    if (principal.kind !== 'member') return null;
    const { session } = principal;
    // A confirmation in the future was recorded by a clock that was ahead. It must not stay valid until that time.
    if (Math.abs(this.clock.now() - session.confirmedAt) < CONFIRMED_MS) return null;
    return this.refused(principal, ASK);
  }

  /**
   * Rejects with `confirmation_required` when a session opened by a password alone adds the first passkey unconfirmed
   * (NIST SP 800-63B-4). Otherwise, a stolen password could register a passkey of the attacker.
   */
  async checkFirstPasskey(principal: SignedInMember): Promise<void> {
    const { member, session } = principal;
    if (session.method !== 'password' || session.confirmedAt !== session.createdAt) return;
    const { passkeys, totp } = await this.ways.of(member.id);
    const refused = passkeys > 0 || totp ? null : await this.refused(principal, ASK_FIRST_PASSKEY);
    if (refused !== null) throw refused;
  }

  private async refused({ member, session }: SignedInMember, detail: string): Promise<Problem | null> {
    const ways = await this.ways.toConfirm(member.id, session.method);
    // A demo user has no factor to confirm with.
    if (ways.length === 0 && (await this.firstOwner.isDemo(member.id))) return null;
    return new Problem('confirmation_required', {
      detail: ways.length > 0 ? detail : NOTHING_TO_SHOW,
      confirmWith: ways,
    });
  }
}
