/**
 * Defines the member credentials resource of the admin API. The resource lists the credentials that end when a member
 * loses access, and the keys and webhook endpoints that stay.
 */
import { z } from 'zod';
import type { MemberCredentials } from '../../members/created-by-member.js';
import { CREDENTIAL_TYPES } from '../../members/credentials.js';
import { idField } from '../openapi/fields.js';

const name = z
  .string()
  .max(2_048)
  .meta({ description: 'A name, an email address, or the URL of an endpoint without its query.' });

export const memberCredentialsSchema = z
  .object({
    member_id: idField('mem'),
    ended: z
      .array(
        z.object({
          type: z.enum(CREDENTIAL_TYPES),
          id: z.string().max(100),
          account_id: idField('acc').nullable(),
          name,
        }),
      )
      .meta({ description: 'Credentials created by the member, which stop working when they lose access.' }),
    kept: z
      .array(
        z.object({
          type: z.enum(['api_key', 'webhook_endpoint']),
          id: z.string().max(100),
          account_id: idField('acc'),
          name,
        }),
      )
      .max(200)
      .meta({
        description:
          'API keys and webhook endpoints created by the member, also with an account token. They belong ' +
          'to the account and keep working. At most 100 of each.',
      }),
    kept_has_more: z.boolean().meta({ description: 'Whether there are more than `kept` lists.' }),
  })
  .meta({ id: 'MemberCredentials' });

export type MemberCredentialsResource = z.output<typeof memberCredentialsSchema>;

export function memberCredentialsResource(
  memberId: string,
  { ended, kept, hasMore }: MemberCredentials,
): MemberCredentialsResource {
  const itemResource = <Type>({ type, id, name: itemName }: { type: Type; id: string; name: string }) => ({
    type,
    id,
    name: itemName,
  });
  return {
    member_id: memberId,
    ended: ended.map((each) => ({ ...itemResource(each), account_id: each.accountId })),
    kept: kept.map((each) => ({ ...itemResource(each), account_id: each.accountId })),
    kept_has_more: hasMore,
  };
}
