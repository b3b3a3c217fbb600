/** What an API key may be given from outside: one schema for the admin API, its description and the store. */
import { z } from 'zod';
import { SCOPE_PATTERN } from '../config/schema.js';
import { nameField } from './account-fields.js';

const scopes = z
  .array(z.string().max(200).regex(SCOPE_PATTERN, 'must be resource:verb, for example customers:read'))
  .min(1, 'must name at least one scope')
  .max(100)
  .overwrite((list) => [...new Set(list)])
  .meta({ description: 'What the key may do; see the list of scopes.', example: ['customers:read'] });

const allowedIps = z
  .array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], 'must be an address or a block such as 203.0.113.0/24'))
  .max(100)
  .overwrite((list) => [...new Set(list)])
  .meta({ description: 'Addresses and blocks that may use the key; empty: any.', example: ['203.0.113.0/24'] });

const expiresAt = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2027-01-31T23:59:59+01:00' })
  .nullable()
  .meta({ description: 'When the key stops working (RFC 3339); null: never.' });

export const createApiKeySchema = z
  .strictObject({
    name: nameField,
    scopes,
    environment: z.enum(['live', 'test']).default('live'),
    expires_at: expiresAt.default(null),
    allowed_ips: allowedIps.default([]),
  })
  .meta({ id: 'CreateApiKey' });

export const updateApiKeySchema = z
  .strictObject({ name: nameField, scopes, expires_at: expiresAt, allowed_ips: allowedIps })
  .partial()
  .meta({ id: 'UpdateApiKey' });

/** None, one hour, one day, one week. */
export const OVERLAPS_SECONDS = [0, 3_600, 86_400, 604_800] as const;

export const rotateApiKeySchema = z
  .strictObject({
    overlap_seconds: z
      .union(
        OVERLAPS_SECONDS.map((seconds) => z.literal(seconds)),
        'must be 0, 3600 (an hour), 86400 (a day) or 604800 (a week)',
      )
      .meta({ description: 'How long the old secret goes on working beside the new one.' }),
  })
  .meta({ id: 'RotateApiKey' });

export type CreateApiKey = z.output<typeof createApiKeySchema>;
export type UpdateApiKey = z.output<typeof updateApiKeySchema>;
export type OverlapSeconds = (typeof OVERLAPS_SECONDS)[number];
