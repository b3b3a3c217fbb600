/**
 * Determines the methods with which a member can sign in and confirm their identity. A method counts if the member has
 * it and the configuration allows it. Also prevents the removal of a member's last method.
 */
import type { Kysely, Transaction } from 'kysely';
import type { AdminConfig } from '../config/model/admin-schema.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Tables } from '../stores/database/schema.js';
import { Problem } from '../platform/problems/errors.js';
import type { SignInMethod } from './sessions.js';
import { lockMember, memberNotFound } from './member-rows.js';

/** OfferedMethods holds the sign-in methods that the configuration allows. */
export interface OfferedMethods {
  readonly passwords: boolean;
  readonly passkeys: boolean;
  /** Issuers of the configured identity providers. */
  readonly issuers: readonly string[];
}

/**
 * MemberMethods holds the sign-in methods that a member has, even those that the configuration does not allow.
 * `passkeys` is their number.
 */
export interface MemberMethods {
  readonly password: boolean;
  readonly totp: boolean;
  readonly passkeys: number;
  /** Issuers of the identities that the member has linked. */
  readonly issuers: readonly string[];
}

/** PrimaryMethod is a method that opens a session. `oidc` is a sign-in at an identity provider. */
type PrimaryMethod = 'password' | 'passkey' | 'oidc';

/**
 * ConfirmationMethod is a method with which a member confirms their identity. `password_and_code` is the password
 * together with a code of the authenticator app.
 */
export type ConfirmationMethod = PrimaryMethod | 'password_and_code';

/** Returns the sign-in methods that the configuration allows. */
export function offeredMethodsOf({ passwords, passkeys, providers }: AdminConfig['signIn']): OfferedMethods {
  return { passwords, passkeys, issuers: Object.values(providers).map(({ issuer }) => issuer) };
}

/**
 * SignInMethods determines the sign-in and confirmation methods of each member. Methods also reject with the database's
 * error.
 */
export class SignInMethods {
  constructor(
    private readonly database: DatabaseHandle,
    readonly offered: () => OfferedMethods,
  ) {}

  /**
   * Reads the methods that a member has, even those that the configuration does not allow.
   * @throws Problem `resource_not_found`
   */
  async findMethods(memberId: string, db: Kysely<Tables> = this.database.db): Promise<MemberMethods> {
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
   * has no method. If the member has an authenticator app and a usable password, the password needs a code. An identity
   * provider is then listed only if it opened this session.
   */
  async findConfirmationMethods(memberId: string, sessionMethod: SignInMethod): Promise<readonly ConfirmationMethod[]> {
    const own = await this.findMethods(memberId);
    const methods = this.usableMethods(own);
    if (!own.totp || !methods.includes('password')) return methods;
    return methods.flatMap((method): readonly ConfirmationMethod[] => {
      if (method === 'password') return ['password_and_code'];
      return method === 'oidc' && sessionMethod !== 'oidc' ? [] : [method];
    });
  }

  /**
   * Removes a sign-in method, unless the member could then no longer sign in without a link.
   * @param remove performs the removal in `trx`, which the caller must roll back on error
   * @throws Problem `last_way_to_sign_in`
   */
  async removeUnlessLast(trx: Transaction<Tables>, memberId: string, remove: () => Promise<void>): Promise<void> {
    // Lock the member. Otherwise, two concurrent removals could each leave the method that the other removes.
    await lockMember(trx, this.database.kind, memberId);
    const before = this.usableMethods(await this.findMethods(memberId, trx));
    await remove();
    if (before.length === 0 || this.usableMethods(await this.findMethods(memberId, trx)).length > 0) return;
    throw new Problem('last_way_to_sign_in', {
      detail: 'This is your only sign-in method. Add another one first.',
    });
  }

  /** Reports whether a member with these methods can sign in without a link. */
  canSignIn(methods: MemberMethods): boolean {
    return this.usableMethods(methods).length > 0;
  }

  /** Throws `forbidden` if the configuration does not allow this method. */
  checkOffered(method: 'passwords' | 'passkeys'): void {
    if (this.offered()[method]) return;
    throw new Problem('forbidden', { detail: `${method === 'passwords' ? 'Passwords' : 'Passkeys'} are disabled.` });
  }

  private usableMethods({ password, passkeys, issuers }: MemberMethods): PrimaryMethod[] {
    const offered = this.offered();
    return [
      ...(password && offered.passwords ? (['password'] as const) : []),
      ...(passkeys > 0 && offered.passkeys ? (['passkey'] as const) : []),
      ...(issuers.some((issuer) => offered.issuers.includes(issuer)) ? (['oidc'] as const) : []),
    ];
  }
}
