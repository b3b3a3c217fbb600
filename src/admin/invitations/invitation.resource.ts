/**
 * Defines the invitation resources of the admin API. Only the response that creates or resends an invitation contains
 * its link.
 */
import { z } from 'zod';
import type { Invitation, MadeInvitation } from '../../members/links/invitations.js';
import { ROLES } from '../../members/permissions.js';
import type { Site } from '../access/site.js';
import { encode } from '../openapi/encode.js';
import { idField, timeField } from '../openapi/fields.js';
import { listSchema } from '../request/list.js';

export const invitationSchema = z
  .object({
    id: idField('inv'),
    account_id: idField('acc'),
    email: z.string().max(254),
    role: z.enum(ROLES),
    status: z.enum(['open', 'accepted', 'revoked', 'expired']),
    mail: z
      .enum(['none', 'waiting', 'sent', 'failed'])
      .meta({ description: 'State of the email; none: the inviter hands the link over.' }),
    created_by: z.string().max(100).meta({ description: 'Actor as in the audit log.' }),
    created_at: timeField,
    expires_at: timeField,
  })
  .meta({ id: 'Invitation' });

/** Schema of the link of an invitation: the URL of the panel, and a token of 43 characters after `#`. */
export const linkField = z
  .string()
  .max(2_048)
  .nullable()
  .meta({
    description:
      'Link for the invited person. It works once and is shown only in this response. Null: sent by ' + 'email.',
  });

export const invitationWithLinkSchema = invitationSchema.extend({ link: linkField }).meta({ id: 'InvitationWithLink' });

export const invitationListSchema = listSchema('InvitationList', invitationSchema);

export type InvitationResource = z.output<typeof invitationSchema>;
export type InvitationWithLinkResource = z.output<typeof invitationWithLinkSchema>;

/** Returns the API resource of an invitation. Times have the offset of the account's time zone. */
export function invitationResource(invitation: Invitation, timeZone: string): InvitationResource {
  return encode(invitationSchema, invitation, timeZone);
}

/** Returns the API resource of a created or resent invitation. Its `link` is null if the link was sent by email. */
export function madeInvitationResource(
  { invitation, token }: MadeInvitation,
  timeZone: string,
  site: Site,
): InvitationWithLinkResource {
  return { ...invitationResource(invitation, timeZone), link: token === null ? null : site.linkUrl(token) };
}
