/** An account as the admin API shows it. */
import { z } from 'zod';
import type { Account } from '../../keys/accounts.js';
import { formatWithOffset } from '../../rfc3339.js';
import { listSchema } from '../list.js';

export const accountSchema = z
  .object({
    id: z.string().meta({ example: 'acc_1d2m3kx9v7c4e5f6g7h8j9k0m1' }),
    name: z.string(),
    plan: z.string(),
    time_zone: z.string().meta({ description: 'IANA time zone.' }),
    billing_day: z.int().min(1).max(31),
    status: z.enum(['active', 'suspended']),
    created_at: z.iso.datetime({ offset: true }),
    updated_at: z.iso.datetime({ offset: true }),
  })
  .meta({ id: 'Account' });

export const accountListSchema = listSchema('AccountList', accountSchema);

export type AccountResource = z.output<typeof accountSchema>;

export function accountResource(account: Account): AccountResource {
  return {
    id: account.id,
    name: account.name,
    plan: account.plan,
    time_zone: account.timeZone,
    billing_day: account.billingDay,
    status: account.status,
    created_at: formatWithOffset(account.createdAt, account.timeZone),
    updated_at: formatWithOffset(account.updatedAt, account.timeZone),
  };
}
