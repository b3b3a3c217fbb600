/** Schema of quota adjustments for the admin API, its description and the store. */
import { z } from 'zod';
import { LARGEST_LIMIT } from '../config/model/plan-schema.js';
import { plainText } from '../records/plain-text.js';

const TOO_MANY = `must be at most ${LARGEST_LIMIT}`;

const amount = z
  // For integers above the safe range, zod reports two errors. This function returns the same text for both errors.
  .int({ error: ({ code }) => (code === 'too_big' ? TOO_MANY : 'must be a whole number') })
  .min(0, 'must not be negative')
  .max(LARGEST_LIMIT, TOO_MANY)
  .meta({
    description:
      'Number of requests: the increase (`grant`, at least 1), or the new usage (`set`). Not for ' + '`reset`.',
  });

const reason = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(500, 'must be at most 500 characters')
  .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, 'must not contain control characters')
  .meta({ description: 'Reason, shown in the list and in the audit log.', example: 'Trade fair weekend' });

export const createQuotaAdjustmentSchema = z
  .strictObject({
    window: z.literal('month', 'must be month: minute and day windows reset by themselves'),
    type: z.enum(['grant', 'set', 'reset'], 'must be grant, set or reset').meta({
      description: '`grant` raises the limit until the month ends, `set` sets the usage, `reset` sets it to zero.',
    }),
    amount: amount.optional(),
    api_key_id: plainText(100)
      .optional()
      .meta({ description: "A key of the account, to adjust its own month instead of the account's." }),
    reason,
  })
  .superRefine(({ type, amount: given }, context) => {
    const refuse = (message: string): void => context.addIssue({ code: 'custom', path: ['amount'], message });
    if (type === 'reset') {
      if (given !== undefined) refuse('must not be given with reset');
    } else if (given === undefined) {
      refuse(`must be given with ${type}`);
    } else if (type === 'grant' && given === 0) {
      refuse('must be at least 1 with grant');
    }
  })
  .meta({ id: 'CreateQuotaAdjustment' });

export type CreateQuotaAdjustment = z.output<typeof createQuotaAdjustmentSchema>;
