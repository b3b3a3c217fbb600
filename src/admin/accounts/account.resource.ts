/** Defines the account resource of the admin API, and converts accounts to the resource. */
import { z } from 'zod';
import type { Account } from '../../accounts/accounts.js';
import { shownExternalFields } from '../../records/external-fields.js';
import { encode } from '../openapi/encode.js';
import { idField, timeField, versionField } from '../openapi/fields.js';
import { listSchema } from '../request/list.js';

export const accountSchema = z
  .object({
    id: idField('acc'),
    name: z.string().max(200),
    plan: z.string().max(100),
    time_zone: z.string().max(64).meta({ description: 'IANA time zone.' }),
    billing_day: z.int().min(1).max(31),
    status: z.enum(['active', 'suspended']),
    created_at: timeField,
    updated_at: timeField,
    version: versionField,
    ...shownExternalFields,
  })
  .meta({ id: 'Account' });

export const accountListSchema = listSchema('AccountList', accountSchema);

export type AccountResource = z.output<typeof accountSchema>;

/** Returns the API resource of an account. Times have the offset of the account's time zone. */
export function accountResource(account: Account): AccountResource {
  return encode(accountSchema, account, account.timeZone);
}
