/**
 * Defines the member resources of the admin API, for operators: members of the installation, and links to set a
 * password.
 */
import { z } from 'zod';
import type { Member } from '../../members/member-rows.js';
import type { PasswordLink } from '../../members/member-admin.js';
import { LOCALES } from '../../members/member-fields.js';
import { Site } from '../access/site.js';
import { encode } from '../openapi/encode.js';
import { idField, timeField, versionField } from '../openapi/fields.js';
import { listSchema } from '../request/list.js';

export const memberSchema = z
  .object({
    id: idField('mem'),
    email: z.string().max(254),
    email_verified: z
      .boolean()
      .meta({ description: 'Whether an emailed link or an identity provider verified the address.' }),
    name: z.string().max(200),
    is_operator: z.boolean(),
    status: z.enum(['active', 'disabled']),
    locale: z.enum(LOCALES).nullable(),
    has_password: z.boolean(),
    has_totp: z.boolean(),
    created_at: timeField,
    updated_at: timeField,
    last_signed_in_at: timeField.nullable(),
    version: versionField,
  })
  .meta({ id: 'Member' });

export const passwordLinkSchema = z
  .object({
    link: z.string().max(2_048).nullable().meta({
      description: 'Link for the member. It works once and is shown only in this response. Null: sent by email.',
    }),
    expires_at: timeField,
  })
  .meta({ id: 'PasswordLink' });

export const createdMemberSchema = memberSchema
  .extend({ password_link: passwordLinkSchema })
  .meta({ id: 'CreatedMember' });

export const memberListSchema = listSchema('MemberList', memberSchema);

export type MemberResource = z.output<typeof memberSchema>;
export type PasswordLinkResource = z.output<typeof passwordLinkSchema>;
export type CreatedMemberResource = z.output<typeof createdMemberSchema>;

/** Returns the API resource of a member. Times are in UTC, because a member can have accounts in several time zones. */
export function memberResource(member: Member): MemberResource {
  return encode(memberSchema, { ...member, emailVerified: member.isEmailVerified }, 'UTC');
}

/** Returns the API resource of a password link. Its `link` is null if the link was sent by email. */
export function passwordLinkResource({ token, expiresAt }: PasswordLink, site: Site): PasswordLinkResource {
  return encode(passwordLinkSchema, { link: token === null ? null : site.linkUrl(token), expiresAt }, 'UTC');
}
