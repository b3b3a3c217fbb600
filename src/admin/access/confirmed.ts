/** Whether somebody has shown lately that it is them: what gives something away for good asks for that. */
import { Inject, Injectable } from '@nestjs/common';
import { MemberStore } from '../../members/members.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../problems/errors.js';
import type { Principal } from './principal.js';

/** How long it holds. */
export const CONFIRMED_MS = 10 * 60_000;

/** Injection token of the clock. */
export const CLOCK = Symbol('Clock');

@Injectable()
export class Confirmed {
  constructor(
    private readonly members: MemberStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Rejects with `confirmation_required`. Programs have nothing to type; who comes through a portal was let in by the
   * company an hour ago at most.
   */
  async check(principal: Principal): Promise<void> {
    if (principal.kind !== 'member') return;
    const { member, session } = principal;
    if (this.clock.now() < session.confirmedAt + CONFIRMED_MS) return;
    const { password, totp, passkeys, identities } = await this.members.waysOf(member.id);
    const ways = [
      ...(password ? ['password'] : []),
      ...(passkeys > 0 ? ['passkey'] : []),
      ...(totp ? ['totp'] : []),
      ...(identities > 0 ? ['oidc'] : []),
    ];
    // The demo's member has nothing to show.
    if (ways.length === 0) return;
    throw new Problem('confirmation_required', {
      detail: 'Show first that it is you: this gives something away, and you last did ten minutes ago or more.',
      confirmWith: ways,
    });
  }
}
