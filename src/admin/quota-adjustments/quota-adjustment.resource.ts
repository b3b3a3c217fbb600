/**
 * Defines the quota adjustment resource of the admin API: an operator's change to a monthly limit or to the usage of a
 * month.
 */
import { z } from 'zod';
import type { QuotaAdjustment } from '../../accounts/adjustment-list.js';
import { encode } from '../openapi/encode.js';
import { countField, idField, timeField as time } from '../openapi/fields.js';
import { listSchema } from '../request/list.js';

export const quotaAdjustmentSchema = z
  .object({
    id: idField('adj'),
    account_id: idField('acc'),
    api_key_id: idField('key').nullable().meta({ description: 'Null: the usage of the account.' }),
    window: z.literal('month'),
    type: z.enum(['grant', 'set', 'reset']),
    amount: countField.nullable().meta({ description: 'Null for `reset`.' }),
    reason: z.string().max(500),
    actor: z.string().max(100).meta({ description: '`operator`, `system` or the id of a member.' }),
    period_ends_at: time.meta({ description: 'End of the adjusted month. A grant expires then.' }),
    created_at: time,
  })
  .meta({ id: 'QuotaAdjustment' });

export const quotaAdjustmentListSchema = listSchema('QuotaAdjustmentList', quotaAdjustmentSchema);

export type QuotaAdjustmentResource = z.output<typeof quotaAdjustmentSchema>;

/** Returns the API resource of an adjustment. Times have the offset of the account's time zone. */
export function quotaAdjustmentResource(adjustment: QuotaAdjustment): QuotaAdjustmentResource {
  return encode(quotaAdjustmentSchema, { ...adjustment, window: 'month' }, adjustment.timeZone);
}
