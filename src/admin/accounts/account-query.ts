/** Defines the query parameters of the list of accounts: search, filters and order. */
import { z } from 'zod';
import { ACCOUNT_SORTS } from '../../accounts/account-list.js';
import { externalQuery } from '../../records/external-fields.js';
import { pageQuerySchema } from '../request/list.js';

export const accountQuerySchema = pageQuerySchema.extend({
  q: z.string().trim().max(200, 'must be at most 200 characters').optional().meta({
    description: 'Searches names, ignoring case and accents, and matches the exact id or external_id.',
  }),
  status: z
    .enum(['active', 'suspended'], 'must be active or suspended')
    .optional()
    .meta({ description: 'Filters by status.' }),
  ...externalQuery,
  sort: z
    .enum(ACCOUNT_SORTS, `must be one of ${ACCOUNT_SORTS.join(', ')}`)
    .default('created')
    .meta({ description: 'Field to sort by.' }),
});

export type AccountQueryFields = z.output<typeof accountQuerySchema>;
