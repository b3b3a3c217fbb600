/** What an API key may be given from outside: one schema for the admin API, its description and the store. */
import { z } from 'zod';
import { NETWORK_MESSAGES } from '../config/model/address-values.js';
import { LARGEST_LIMIT } from '../config/model/plan-schema.js';
import { SCOPE_PATTERN } from '../config/model/operation-schema.js';
import { networkFault, plainNetwork } from '../platform/network-list.js';
import { nameField } from '../records/account-fields.js';

const scopes = z
  .array(z.string().max(200).regex(SCOPE_PATTERN, 'must be resource:verb, for example customers:read'))
  .min(1, 'must name at least one scope')
  .max(100)
  .overwrite((list) => [...new Set(list)])
  .meta({ description: 'What the key may do; see the list of scopes.', example: ['customers:read'] });

export const allowedIps = z
  .array(
    z
      .union(
        [z.ipv4().max(15), z.ipv6().max(39), z.cidrv4().max(18), z.cidrv6().max(43)],
        'must be an address or a block such as 203.0.113.0/24',
      )
      .superRefine((text, context) => {
        const fault = networkFault(text);
        if (fault === undefined) return;
        const instead = fault.instead ?? 'the block as IPv4';
        context.addIssue({ code: 'custom', message: `${NETWORK_MESSAGES[fault.reason]}: write ${instead}` });
      }),
  )
  .max(100)
  .overwrite((list) => [...new Set(list.map(plainNetwork))])
  .meta({ description: 'Addresses and blocks that may use the key; empty: any.', example: ['203.0.113.0/24'] });

const expiresAt = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2027-01-31T23:59:59+01:00' })
  .max(40)
  .nullable()
  .meta({ description: 'When the key stops working (RFC 3339); null: never.' });

const limit = z
  .int('must be a whole number, or null for no limit')
  .min(0, 'must not be negative')
  .max(LARGEST_LIMIT, `must be at most ${LARGEST_LIMIT}`)
  .nullable()
  .optional();

const limits = z
  .strictObject({
    minute: limit.meta({ description: 'Most requests of the key in any 60 seconds; null: no limit.' }),
    month: limit.meta({ description: 'Most requests of the key in a month; null: no limit.' }),
  })
  .nullable()
  // Nothing named is nothing changed.
  .overwrite((given) => (given?.minute === undefined && given?.month === undefined ? null : given))
  .meta({
    description: "Limits of this key in the place of its plan's; a window that is not named, and null, are the plan's.",
    example: { minute: 300 },
  });

export const createApiKeySchema = z
  .strictObject({
    name: nameField,
    scopes,
    environment: z.enum(['live', 'test']).default('live'),
    expires_at: expiresAt.default(null),
    allowed_ips: allowedIps.default([]),
    limits: limits.default(null),
  })
  .meta({ id: 'CreateApiKey' });

export const updateApiKeySchema = z
  .strictObject({ name: nameField, scopes, expires_at: expiresAt, allowed_ips: allowedIps, limits })
  .partial()
  .meta({ id: 'UpdateApiKey' });

/** None, one hour, one day, one week. */
export const OVERLAPS_SECONDS = [0, 3_600, 86_400, 604_800] as const;

/** Shared by the rotations of keys and of webhook endpoints. */
export const endPreviousSecret = z
  .boolean()
  .default(false)
  .meta({
    description:
      'Ends a previous secret that a former rotation promised to keep. Without it the rotation is refused with 409 ' +
      '`previous_secret_active`. Has no effect with an overlap of 0, which ends every other secret.',
  });

export const rotateApiKeySchema = z
  .strictObject({
    overlap_seconds: z
      .union(
        OVERLAPS_SECONDS.map((seconds) => z.literal(seconds)),
        'must be 0, 3600 (an hour), 86400 (a day) or 604800 (a week)',
      )
      .meta({
        description:
          'How long the current secret keeps working beside the new one. 0: only the new secret works from now on.',
      }),
    end_previous_secret: endPreviousSecret,
  })
  .meta({ id: 'RotateApiKey' });

export type CreateApiKey = z.output<typeof createApiKeySchema>;
export type UpdateApiKey = z.output<typeof updateApiKeySchema>;
export type RotateApiKey = z.input<typeof rotateApiKeySchema>;
export type OverlapSeconds = (typeof OVERLAPS_SECONDS)[number];
