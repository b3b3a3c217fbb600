/** A quota adjustment as the admin API shows it. */
import { z } from 'zod';
import type { QuotaAdjustment } from '../../keys/quota-adjustments.js';
import { formatWithOffset } from '../../rfc3339.js';
import { listSchema } from '../list.js';

const time = z.iso.datetime({ offset: true });

export const quotaAdjustmentSchema = z
  .object({
    id: z.string().meta({ example: 'adj_1d2m3kx9v7c4e5f6g7h8j9k0m1' }),
    account_id: z.string(),
    api_key_id: z.string().nullable().meta({ description: "Null: the account's own month." }),
    window: z.literal('month'),
    type: z.enum(['grant', 'set', 'reset']),
    amount: z.int().nullable().meta({ description: 'Null for `reset`.' }),
    reason: z.string(),
    actor: z.string().meta({ description: '`operator`, `system` or the id of a member.' }),
    period_ends_at: time.meta({ description: 'The end of the month that it was made for; a grant ends with it.' }),
    created_at: time,
  })
  .meta({ id: 'QuotaAdjustment' });

export const quotaAdjustmentListSchema = listSchema('QuotaAdjustmentList', quotaAdjustmentSchema);

export type QuotaAdjustmentResource = z.output<typeof quotaAdjustmentSchema>;

export function quotaAdjustmentResource(adjustment: QuotaAdjustment): QuotaAdjustmentResource {
  return {
    id: adjustment.id,
    account_id: adjustment.accountId,
    api_key_id: adjustment.apiKeyId,
    window: 'month',
    type: adjustment.type,
    amount: adjustment.amount,
    reason: adjustment.reason,
    actor: adjustment.actor,
    period_ends_at: formatWithOffset(adjustment.periodEndsAt, adjustment.timeZone),
    created_at: formatWithOffset(adjustment.createdAt, adjustment.timeZone),
  };
}
