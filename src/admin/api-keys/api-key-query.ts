/** Defines the query parameters of the list of API keys: search, filters and order. */
import { z } from 'zod';
import { API_KEY_SORTS } from '../../accounts/api-key-list.js';
import type { ApiKey } from '../../accounts/api-key-rows.js';
import { externalQuery } from '../../records/external-fields.js';
import { idPattern } from '../openapi/fields.js';
import { pageQuerySchema } from '../request/list.js';

const STATUSES = ['active', 'paused', 'expired', 'revoked'] as const satisfies readonly ApiKey['status'][];
const STATUS_MESSAGE = `must be some of ${STATUSES.join(', ')}, with commas between them`;
const ONE_STATUS = `(?:${STATUSES.join('|')})`;

const statuses = z
  .string()
  .max(100)
  .regex(new RegExp(`^${ONE_STATUS}(?:,${ONE_STATUS})*$`), STATUS_MESSAGE)
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
        'Searches names, ignoring case and accents. Matches the exact id, external_id or hint, and the last four ' +
        'characters of the secret.',
    }),
  status: statuses.optional().meta({
    description: 'Filters by status; several separated by commas.',
    schema: { type: 'string', maxLength: 100, pattern: `^${ONE_STATUS}(?:,${ONE_STATUS})*$` },
  }),
  environment: z
    .enum(['live', 'test'], 'must be live or test')
    .optional()
    .meta({ description: 'Filters by environment.' }),
  oauth_client: z.enum(['true', 'false'], 'must be true or false').optional().meta({
    description: '`true`: only keys of OAuth clients; `false`: only keys with a secret.',
  }),
  authorized_by: z.string().max(30).regex(idPattern('mem'), 'must be the id of a member').optional().meta({
    description: 'Only keys of OAuth clients that this member authorized. Portal sessions get none.',
  }),
  ...externalQuery,
  sort: z
    .enum(API_KEY_SORTS, `must be one of ${API_KEY_SORTS.join(', ')}`)
    .default('created')
    .meta({ description: 'Field to sort by. Keys that were never used count as least recently used.' }),
  order: z.enum(['asc', 'desc'], 'must be asc or desc').default('asc').meta({ description: 'Sort direction.' }),
});

export type ApiKeyQueryFields = z.output<typeof apiKeyQuerySchema>;
