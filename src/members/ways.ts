/** How members can sign in and confirm that it is them: what they have, as far as the configuration takes it. */
import type { Kysely, Transaction } from 'kysely';
import type { AdminConfig } from '../config/model/admin-schema.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Tables } from '../stores/database/schema.js';
import { Problem } from '../platform/problems/errors.js';
import type { SignInMethod } from './sessions.js';
import { lockMember, memberNotFound } from './member-rows.js';

/** What the configuration takes. */
export interface OfferedWays {
  readonly passwords: boolean;
  readonly passkeys: boolean;
  /** Of the identity providers. */
  readonly issuers: readonly string[];
}

/** What a member has, taken or not. */
export interface MemberWays {
  readonly password: boolean;
  readonly totp: boolean;
  readonly passkeys: number;
  /** Of each identity. */
  readonly issuers: readonly string[];
}

/** A way to sign in. */
type SignInWay = 'password' | 'passkey' | 'oidc';

/** A way to confirm. `password_and_code`: with a code of the authenticator app beside the password. */
export type ConfirmationWay = SignInWay | 'password_and_code';

/** What of the configuration says how one signs in. */
export function offeredWaysOf({ passwords, passkeys, providers }: AdminConfig['signIn']): OfferedWays {
  return { passwords, passkeys, issuers: Object.values(providers).map(({ issuer }) => issuer) };
}

/** OwnWays knows how each member can sign in. */
export class OwnWays {
  constructor(
    private readonly database: DatabaseHandle,
    readonly offered: () => OfferedWays,
  ) {}

  /** What a member has. Rejects with `resource_not_found`. */
  async of(memberId: string, db: Kysely<Tables> = this.database.db): Promise<MemberWays> {
    const row = await db
      .selectFrom('member')
      .select(['password', 'totp_confirmed_at'])
      .select(({ selectFrom }) =>
        selectFrom('member_passkey')
          .select(({ fn }) => fn.countAll<number>().as('n'))
          .where('member_id', '=', memberId)
          .as('passkeys'),
      )
      .where('id', '=', memberId)
      .executeTakeFirst();
    if (row === undefined) return memberNotFound();
    const identities = db.selectFrom('member_identity').select('issuer').where('member_id', '=', memberId);
    return {
      password: row.password !== null,
      totp: row.totp_confirmed_at !== null,
      passkeys: Number(row.passkeys),
      issuers: (await identities.execute()).map(({ issuer }) => issuer),
    };
  }

  /**
   * Returns the ways in which a signed-in member can confirm; empty: none. With an authenticator app a password needs a
   * code beside it, and an identity provider counts only where it is how the person signs in: it opened this session,
   * or there is no password.
   */
  async toConfirm(memberId: string, method: SignInMethod): Promise<readonly ConfirmationWay[]> {
    const own = await this.of(memberId);
    const ways = this.toSignIn(own);
    if (!own.totp || !ways.includes('password')) return ways;
    return ways.flatMap((way): readonly ConfirmationWay[] => {
      if (way === 'password') return ['password_and_code'];
      return way === 'oidc' && method !== 'oidc' ? [] : [way];
    });
  }

  /**
   * Takes something from a member that may sign them in: nobody locks themselves out.
   * @throws Problem `last_way_to_sign_in` where nothing would be left, and nothing is taken then.
   */
  async keepingOne(trx: Transaction<Tables>, memberId: string, take: () => Promise<void>): Promise<void> {
    // Behind the lock: of two that are taken at once the second finds the first one gone.
    await lockMember(trx, this.database.kind, memberId);
    const before = this.toSignIn(await this.of(memberId, trx));
    await take();
    if (before.length === 0 || this.toSignIn(await this.of(memberId, trx)).length > 0) return;
    throw new Problem('last_way_to_sign_in', {
      detail: 'This is the only way in which you can sign in. Add another one first.',
    });
  }

  /** Reports whether a member with these ways can sign in without a link. */
  canSignIn(ways: MemberWays): boolean {
    return this.toSignIn(ways).length > 0;
  }

  /** Throws `forbidden` where the configuration does not take it. */
  checkOffered(way: 'passwords' | 'passkeys'): void {
    if (this.offered()[way]) return;
    throw new Problem('forbidden', { detail: `${way === 'passwords' ? 'Passwords' : 'Passkeys'} are turned off.` });
  }

  private toSignIn({ password, passkeys, issuers }: MemberWays): SignInWay[] {
    const offered = this.offered();
    return [
      ...(password && offered.passwords ? (['password'] as const) : []),
      ...(passkeys > 0 && offered.passkeys ? (['passkey'] as const) : []),
      ...(issuers.some((issuer) => offered.issuers.includes(issuer)) ? (['oidc'] as const) : []),
    ];
  }
}
