/** Defines the `Me` resource of the admin API: the caller, their accounts, the session and the CSRF token. */
import { z } from 'zod';
import { LOCALES } from '../../members/member-fields.js';
import type { Member } from '../../members/member-rows.js';
import type { OwnAccount } from '../../members/members.js';
import type { MemberMethods } from '../../members/sign-in-methods.js';
import { ROLES } from '../../members/permissions.js';
import type { PortalGrant, Session } from '../../members/sessions.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { CONFIRMED_MS } from '../access/recent-confirmation.js';
import { countField, idField, timeField } from '../openapi/fields.js';

/** Maximum number of accounts in the resource. The panel searches the list of accounts if there are more. */
export const MAX_ACCOUNTS = 200;

const ownAccountSchema = z
  .object({
    id: idField('acc'),
    name: z.string().max(200),
    role: z.enum(ROLES).meta({ description: 'Operators have all rights of an owner, and more.' }),
    status: z.enum(['active', 'suspended']),
  })
  .meta({ id: 'OwnAccount' });

const ownMemberSchema = z
  .object({
    id: idField('mem'),
    email: z.string().max(254),
    email_verified: z
      .boolean()
      .meta({ description: 'Whether an emailed link or an identity provider verified the address.' }),
    name: z.string().max(200),
    locale: z.enum(LOCALES).nullable(),
    is_operator: z.boolean(),
    has_password: z.boolean(),
    has_totp: z.boolean(),
    passkeys: countField.max(1_000),
    can_sign_in: z
      .boolean()
      .meta({ description: 'Whether the member has a password, passkey or linked identity to sign in again.' }),
  })
  .meta({ id: 'OwnMember' });

export const meSchema = z
  .object({
    member: ownMemberSchema.nullable().meta({ description: 'Null for tokens and portal sessions.' }),
    portal: z
      .object({
        account_id: idField('acc'),
        label: z.string().max(200),
        return_url: z.string().max(2_048),
        scopes: z
          .array(z.string().max(200))
          .max(100)
          .nullable()
          .meta({ description: 'The session can only manage keys with these scopes; null: any.' }),
      })
      .nullable()
      .meta({ description: 'The portal session. Null for other callers.' }),
    accounts: z.array(ownAccountSchema).max(MAX_ACCOUNTS),
    has_more_accounts: z.boolean(),
    csrf_token: z
      .string()
      .max(64)
      .nullable()
      .meta({ description: 'Send this as X-CSRF-Token with every change; null without a session.' }),
    session: z
      .object({
        id: idField('ses'),
        idle_until: timeField,
        ends_at: timeField,
        confirmed_until: timeField.meta({ description: 'Until then no change requires another confirmation.' }),
      })
      .nullable(),
  })
  .meta({ id: 'Me' });

export type MeResource = z.output<typeof meSchema>;

/**
 * Returns the `session` field. A portal session needs no confirmation, so its `confirmed_until` is its end. Times are
 * in UTC, because a member can have accounts in several time zones.
 */
export function ownSession(session: Session, isPortal: boolean): MeResource['session'] {
  const at = (ms: number): string => formatWithOffset(ms, 'UTC');
  const confirmedUntil = isPortal ? session.endsAt : Math.min(session.confirmedAt + CONFIRMED_MS, session.endsAt);
  return {
    id: session.id,
    idle_until: at(session.idleUntil),
    ends_at: at(session.endsAt),
    confirmed_until: at(confirmedUntil),
  };
}

export function ownMember(
  member: Member,
  { passkeys }: MemberMethods,
  canSignIn: boolean,
): NonNullable<MeResource['member']> {
  return {
    id: member.id,
    email: member.email,
    email_verified: member.isEmailVerified,
    name: member.name,
    locale: member.locale,
    is_operator: member.isOperator,
    has_password: member.hasPassword,
    has_totp: member.hasTotp,
    passkeys,
    can_sign_in: canSignIn,
  };
}

export function ownPortal({ accountId, label, returnUrl, scopes }: PortalGrant): NonNullable<MeResource['portal']> {
  return { account_id: accountId, label, return_url: returnUrl, scopes: scopes === null ? null : [...scopes] };
}

/**
 * Returns the fields for the accounts of the caller.
 * @param accounts accounts of the caller, read with the limit `MAX_ACCOUNTS` + 1
 */
export function ownAccounts(accounts: readonly OwnAccount[]): Pick<MeResource, 'accounts' | 'has_more_accounts'> {
  return {
    accounts: accounts.slice(0, MAX_ACCOUNTS).map(({ id, name, role, status }) => ({ id, name, role, status })),
    has_more_accounts: accounts.length > MAX_ACCOUNTS,
  };
}
