/** Reports whether a member has confirmed lately that it is them. Changes that widen access ask for that. */
import { Inject, Injectable } from '@nestjs/common';
import { FirstOwner } from '../../members/first-owner.js';
import { OwnWays } from '../../members/ways.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../problems/errors.js';
import type { Principal } from './principal.js';

/** How long it holds. */
export const CONFIRMED_MS = 10 * 60_000;

const ASK = 'Show first that it is you: this gives something away, and you last did ten minutes ago or more.';
const NOTHING_TO_SHOW =
  'This gives something away, and you have nothing by which to show that it is you. Sign in anew, and within ten ' +
  'minutes add a passkey, a password or an identity provider.';

/** Injection token of the clock. */
export const CLOCK = Symbol('Clock');

@Injectable()
export class Confirmed {
  constructor(
    private readonly ways: OwnWays,
    private readonly firstOwner: FirstOwner,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Rejects with `confirmation_required` where `refusal` returns one. */
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
    const { member, session } = principal;
    // A clock that was ahead, and was set right, must not make it hold for all that time.
    if (Math.abs(this.clock.now() - session.confirmedAt) < CONFIRMED_MS) return null;
    const ways = await this.ways.toConfirm(member.id);
    // Whoever started the demo could only start it once more.
    if (ways.length === 0 && (await this.firstOwner.isDemo(member.id))) return null;
    return new Problem('confirmation_required', { detail: ways.length > 0 ? ASK : NOTHING_TO_SHOW, confirmWith: ways });
  }
}
