/** Search, filters and order of the list of API keys. */
import { z } from 'zod';
import { API_KEY_SORTS } from '../../accounts/api-key-list.js';
import type { ApiKey } from '../../accounts/api-key-rows.js';
import { externalQuery } from '../../records/external-fields.js';
import { idPattern } from '../openapi/fields.js';
import { pageQuerySchema } from '../request/list.js';

const STATUSES = ['active', 'paused', 'expired', 'revoked'] as const satisfies readonly ApiKey['status'][];
const STATUS_WORDS = `must be some of ${STATUSES.join(', ')}, with commas between them`;
const ONE_STATUS = `(?:${STATUSES.join('|')})`;

const statuses = z
  .string()
  .max(100)
  .regex(new RegExp(`^${ONE_STATUS}(?:,${ONE_STATUS})*$`), STATUS_WORDS)
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(STATUSES)));

export const apiKeyQuerySchema = pageQuerySchema.extend({
  q: z
    .string()
    .trim()
    .max(200, 'must be at most 200 characters')
    .optional()
    .meta({
      description:
        'Finds keys with this in their name, whatever its case and accents; the one with this id, external_id or hint; and ' +
        'those whose secret ends with these four characters.',
    }),
  status: statuses.optional().meta({
    description: 'Only keys that are so now; some of them with commas between them.',
    schema: { type: 'string', maxLength: 100, pattern: `^${ONE_STATUS}(?:,${ONE_STATUS})*$` },
  }),
  environment: z.enum(['live', 'test'], 'must be live or test').optional().meta({ description: 'Only keys of it.' }),
  oauth_client: z.enum(['true', 'false'], 'must be true or false').optional().meta({
    description: '`true`: only keys by which an OAuth client was let in; `false`: only keys that have a secret.',
  }),
  let_in_by: z.string().max(30).regex(idPattern('mem'), 'must be the id of a member').optional().meta({
    description: 'Only keys by which this member let an OAuth client in. Portal sessions are not told of any.',
  }),
  ...externalQuery,
  sort: z
    .enum(API_KEY_SORTS, `must be one of ${API_KEY_SORTS.join(', ')}`)
    .default('created')
    .meta({ description: 'What they are sorted by. A key that was never used counts as the one used longest ago.' }),
  order: z.enum(['asc', 'desc'], 'must be asc or desc').default('asc').meta({ description: 'Upwards or downwards.' }),
});

export type ApiKeyQueryFields = z.output<typeof apiKeyQuerySchema>;
