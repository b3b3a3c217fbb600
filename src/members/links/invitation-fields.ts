/** Request schemas of the admin API for invitations and for changes of memberships. */
import { z } from 'zod';
import { emailField, localeField } from '../member-fields.js';
import { ROLES } from '../permissions.js';

export const createInvitationSchema = z
  .strictObject({
    email: emailField,
    role: z.enum(ROLES).meta({ description: 'Role in the account. Only owners can invite owners.' }),
    locale: localeField.optional().meta({
      description: 'Language of the mail. Default: that of the recipient if known, else of the inviting member.',
    }),
    expires_in_days: z.int().min(1).max(30).default(7).meta({ description: 'Lifetime of the link.' }),
  })
  .meta({ id: 'CreateInvitation' });

export type CreateInvitation = z.output<typeof createInvitationSchema>;

export const updateAccountMemberSchema = z.strictObject({ role: z.enum(ROLES) }).meta({ id: 'UpdateAccountMember' });

export type UpdateAccountMember = z.output<typeof updateAccountMemberSchema>;
