/** Defines the account token resource of the admin API. Only the response that creates a token contains its secret. */
import { z } from 'zod';
import type { AccountToken } from '../../members/account-tokens.js';
import { encode } from '../openapi/encode.js';
import { idField, timeField as time } from '../openapi/fields.js';
import { listSchema } from '../request/list.js';

export const accountTokenSchema = z
  .object({
    id: idField('tok'),
    account_id: idField('acc'),
    name: z.string().max(200),
    role: z.enum(['admin', 'viewer']),
    status: z.enum(['active', 'expired', 'revoked']),
    hint: z
      .string()
      .max(20)
      .meta({ description: 'Prefix and last four characters of the secret.', example: 'tga_…a1b2' }),
    allowed_ips: z.array(z.string().max(43)).max(100).meta({ description: 'Empty: any address.' }),
    expires_at: time,
    last_used_at: time.nullable().meta({ description: 'Accurate to a minute.' }),
    created_by: z.string().max(100).meta({ description: 'Actor as in the audit log.' }),
    created_by_name: z
      .string()
      .max(254)
      .nullable()
      .meta({ description: 'The name of the member who created it; null for the operator token and erased members.' }),
    created_at: time,
    revoked_at: time.nullable(),
  })
  .meta({ id: 'AccountToken' });

export const accountTokenWithSecretSchema = accountTokenSchema
  .extend({
    secret: z
      .string()
      .regex(/^tga_[0-9A-Za-z]{36}$/)
      .max(40)
      .meta({ description: 'The secret, shown only in this response. Only its hash is stored.' }),
  })
  .meta({ id: 'AccountTokenWithSecret' });

export const accountTokenListSchema = listSchema('AccountTokenList', accountTokenSchema);

export type AccountTokenResource = z.output<typeof accountTokenSchema>;
export type AccountTokenWithSecretResource = z.output<typeof accountTokenWithSecretSchema>;

/**
 * Returns the API resource of a token. Times have the offset of the account's time zone.
 * @param names names of the members who created tokens, by member ID
 */
export function accountTokenResource(
  token: AccountToken,
  timeZone: string,
  names: ReadonlyMap<string, string>,
): AccountTokenResource {
  return encode(accountTokenSchema, { ...token, createdByName: names.get(token.createdBy) ?? null }, timeZone);
}
