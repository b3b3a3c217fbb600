/** Defines the account member resource of the admin API: a member with their role in one account. */
import { z } from 'zod';
import type { AccountMember } from '../../members/account-members.js';
import { ROLES } from '../../members/permissions.js';
import { encode } from '../openapi/encode.js';
import { idField, timeField, versionField } from '../openapi/fields.js';
import { listSchema } from '../request/list.js';

export const accountMemberSchema = z
  .object({
    id: idField('mem'),
    email: z.string().max(254),
    name: z.string().max(200),
    role: z.enum(ROLES),
    status: z.enum(['active', 'disabled']),
    has_second_factor: z.boolean(),
    last_signed_in_at: timeField.nullable(),
    joined_at: timeField,
    version: versionField,
  })
  .meta({ id: 'AccountMember' });

export const accountMemberListSchema = listSchema('AccountMemberList', accountMemberSchema);

export type AccountMemberResource = z.output<typeof accountMemberSchema>;

/** Returns the API resource of an account member. Times have the offset of the account's time zone. */
export function accountMemberResource(member: AccountMember, timeZone: string): AccountMemberResource {
  return encode(accountMemberSchema, member, timeZone);
}
