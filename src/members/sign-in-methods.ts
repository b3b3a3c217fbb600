/** Sign-in and confirmation methods that a member has and the configuration allows. */
import type { Kysely, Transaction } from 'kysely';
import type { AdminConfig } from '../config/model/admin-schema.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Tables } from '../stores/database/schema.js';
import { Problem } from '../platform/problems/errors.js';
import type { SignInMethod } from './sessions.js';
import { lockMember, memberNotFound } from './member-rows.js';

/** Methods that the configuration allows. */
export interface OfferedMethods {
  readonly passwords: boolean;
  readonly passkeys: boolean;
  /** Issuers of the identity providers. */
  readonly issuers: readonly string[];
}

/** Methods that a member has, whether or not the configuration allows them. */
export interface MemberMethods {
  readonly password: boolean;
  readonly totp: boolean;
  readonly passkeys: number;
  /** Issuer of each linked identity. */
  readonly issuers: readonly string[];
}

/** A sign-in method. */
type SignInWay = 'password' | 'passkey' | 'oidc';

/** A confirmation method. `password_and_code` is the password together with a code of the authenticator app. */
export type ConfirmationWay = SignInWay | 'password_and_code';

/** Reads the allowed methods from the configuration. */
export function offeredWaysOf({ passwords, passkeys, providers }: AdminConfig['signIn']): OfferedMethods {
  return { passwords, passkeys, issuers: Object.values(providers).map(({ issuer }) => issuer) };
}

/** SignInMethods determines the methods of each member. */
export class SignInMethods {
  constructor(
    private readonly database: DatabaseHandle,
    readonly offered: () => OfferedMethods,
  ) {}

  /**
   * Reads the methods that a member has.
   * @throws Problem `resource_not_found`
   */
  async of(memberId: string, db: Kysely<Tables> = this.database.db): Promise<MemberMethods> {
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
   * Returns the methods with which a signed-in member can confirm their identity. An empty list means that the member
   * has none. With an authenticator app, a password needs a code. An identity provider then counts only if it opened
   * this session, or if the member cannot sign in with a password.
   */
  async toConfirm(memberId: string, method: SignInMethod): Promise<readonly ConfirmationWay[]> {
    const own = await this.of(memberId);
    const ways = this.signInMethodsOf(own);
    if (!own.totp || !ways.includes('password')) return ways;
    return ways.flatMap((way): readonly ConfirmationWay[] => {
      if (way === 'password') return ['password_and_code'];
      return way === 'oidc' && method !== 'oidc' ? [] : [way];
    });
  }

  /**
   * Removes a sign-in method, unless it is the member's last one.
   * @param remove performs the removal in `trx`, which the caller must roll back on error
   * @throws Problem `last_way_to_sign_in`
   */
  async removeUnlessLast(trx: Transaction<Tables>, memberId: string, remove: () => Promise<void>): Promise<void> {
    // The lock makes concurrent removals see each other's result.
    await lockMember(trx, this.database.kind, memberId);
    const before = this.signInMethodsOf(await this.of(memberId, trx));
    await remove();
    if (before.length === 0 || this.signInMethodsOf(await this.of(memberId, trx)).length > 0) return;
    throw new Problem('last_way_to_sign_in', {
      detail: 'This is your only sign-in method. Add another one first.',
    });
  }

  /** Reports whether a member with these methods can sign in without a link. */
  canSignIn(ways: MemberMethods): boolean {
    return this.signInMethodsOf(ways).length > 0;
  }

  /** Throws `forbidden` if the configuration does not allow this method. */
  checkOffered(way: 'passwords' | 'passkeys'): void {
    if (this.offered()[way]) return;
    throw new Problem('forbidden', { detail: `${way === 'passwords' ? 'Passwords' : 'Passkeys'} are disabled.` });
  }

  private signInMethodsOf({ password, passkeys, issuers }: MemberMethods): SignInWay[] {
    const offered = this.offered();
    return [
      ...(password && offered.passwords ? (['password'] as const) : []),
      ...(passkeys > 0 && offered.passkeys ? (['passkey'] as const) : []),
      ...(issuers.some((issuer) => offered.issuers.includes(issuer)) ? (['oidc'] as const) : []),
    ];
  }
}
