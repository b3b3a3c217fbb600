/** Request schemas for webhook endpoints, shared by the admin API, its OpenAPI description and the store. */
import { z } from 'zod';
import { plainText } from '../../records/plain-text.js';
import { endPreviousSecret } from '../../accounts/api-key-fields.js';
import {
  LONGEST_PAUSE_MS,
  LONGEST_SCHEDULE_MS,
  MAX_RETRIES,
  SHORTEST_PAUSE_MS,
} from '../deliveries/rows/retry-schedule.js';
import { parseWebhookSecret, SECRET_OVERLAP_MS } from '../signing/webhook-secret.js';

const MS_PER_SECOND = 1_000;
const MAX_EVENT_TYPES = 100;
const LONGEST_URL = 2_048;
const LONGEST_TYPE = 100;
const MAX_PER_SECOND = 1_000;
const MAX_CONCURRENT = 50;
const SHORTEST_TIMEOUT_MS = 1_000;
const LONGEST_TIMEOUT_MS = 30_000;
const LONGEST_OVERLAP_SECONDS = 7 * 86_400;
const SECRET_MESSAGE = 'must be whsec_ followed by 24 to 64 bytes in base64';

const shortest = SHORTEST_PAUSE_MS / MS_PER_SECOND;
const longest = LONGEST_PAUSE_MS / MS_PER_SECOND;

/** Format of an event type or a family of types, such as `customer.created` and `customer.*`. */
const PATTERN = /^[a-z0-9_]+(?:\.[a-z0-9_]+)*\.(?:[a-z0-9_]+|\*)$/;
/** Format of an event type, such as `customer.created`. */
const EVENT_TYPE_PATTERN = /^[a-z0-9_]+(?:\.[a-z0-9_]+)+$/;

/** Schema of an event type, without families such as `customer.*`. */
export const eventTypeField = z
  .string()
  .max(LONGEST_TYPE)
  .regex(EVENT_TYPE_PATTERN, 'must be resource.verb, for example customer.created')
  .meta({ example: 'customer.created' });

// `EndpointRules` checks the destination by the current configuration, with its own messages.
const url = z.string().min(1, 'must not be empty').max(LONGEST_URL, 'must have at most 2,048 characters').meta({
  description: 'Destination of the events: an absolute https URL on the public internet.',
  example: 'https://shop.example.com/webhooks',
});

/** Schema of an event type or a family of types. */
export const eventPatternField = z
  .string()
  .max(LONGEST_TYPE)
  .regex(PATTERN, 'must be a type such as customer.created, or a family such as customer.*');

const eventTypes = z
  .array(eventPatternField)
  .max(MAX_EVENT_TYPES)
  .overwrite((list) => [...new Set(list)])
  .meta({
    description: 'Event types and families such as `customer.*`. Empty: all, including future types.',
    example: ['customer.created'],
  });

const retrySchedule = z
  .array(z.int().min(shortest, `must be at least ${shortest}`).max(longest, `must be at most ${longest}, a day`))
  .max(MAX_RETRIES, `must have at most ${MAX_RETRIES} pauses`)
  .refine(
    (pauses) => pauses.reduce((sum, pause) => sum + pause, 0) * MS_PER_SECOND <= LONGEST_SCHEDULE_MS,
    'must add up to at most seven days',
  )
  .nullable()
  .meta({
    description:
      'Pauses in seconds before the second and later attempts. Empty: a single attempt. Null: ten attempts in ' +
      'about three days.',
    example: [5, 300, 1_800],
  });

const upTo = (most: number) => z.int().min(1, 'must be at least 1').max(most, `must be at most ${most}`).nullable();

const fields = {
  url,
  description: plainText(500).trim().meta({ description: 'For people, at most 500 characters.' }),
  event_types: eventTypes,
  retry_schedule: retrySchedule,
  ordered: z
    .boolean()
    .meta({ description: 'Delivers the events of a resource in order. If one fails, later ones wait.' }),
  rate_per_second: upTo(MAX_PER_SECOND).meta({ description: 'Maximum attempts per second. Null: 50.' }),
  concurrency: upTo(MAX_CONCURRENT).meta({ description: 'Maximum concurrent attempts. Null: 8.' }),
  timeout_ms: z
    .int()
    .min(SHORTEST_TIMEOUT_MS, `must be at least ${SHORTEST_TIMEOUT_MS}`)
    .max(LONGEST_TIMEOUT_MS, `must be at most ${LONGEST_TIMEOUT_MS}`)
    .nullable()
    .meta({ description: 'Timeout of an attempt in milliseconds. Null: the configured default.' }),
};

const secret = z
  .string()
  .max(100)
  .regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, { error: SECRET_MESSAGE, abort: true })
  .refine((text) => parseWebhookSecret(text) !== null, SECRET_MESSAGE)
  .optional()
  .meta({ description: 'An existing secret of the receiver: 24 to 64 bytes in base64. Omit it to generate one.' });

export const createWebhookEndpointSchema = z
  .strictObject({
    url: fields.url,
    description: fields.description.default(''),
    event_types: fields.event_types.default([]),
    retry_schedule: fields.retry_schedule.default(null),
    ordered: fields.ordered.default(false),
    rate_per_second: fields.rate_per_second.default(null),
    concurrency: fields.concurrency.default(null),
    timeout_ms: fields.timeout_ms.default(null),
    secret,
  })
  .meta({ id: 'CreateWebhookEndpoint' });

/** Schema of a time in RFC 3339 format with an offset. */
export const instantField = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-11-22T09:00:00+01:00' })
  .max(40);

const deliverSchema = z
  .union(
    [z.enum(['all', 'none']), z.strictObject({ since: instantField, until: instantField.optional() })],
    'must be all, none, or a range with since',
  )
  .meta({
    description:
      'With `status: enabled`: which of the waiting events are sent. The others fail as `skipped` and can be ' +
      'replayed. Default: all.',
  });

export const updateWebhookEndpointSchema = z
  .strictObject({
    ...fields,
    status: z.enum(['enabled', 'paused', 'disabled']).meta({
      description:
        '`paused`: events wait for up to 30 days. `enabled`: events are sent. Only operators can disable an ' +
        'endpoint, or enable one that an operator disabled.',
    }),
    deliver: deliverSchema,
  })
  .partial()
  .meta({ id: 'UpdateWebhookEndpoint' });

export const rotateWebhookSecretSchema = z
  .strictObject({
    overlap_seconds: z
      .int()
      .min(0, 'must not be negative')
      .max(LONGEST_OVERLAP_SECONDS, `must be at most ${LONGEST_OVERLAP_SECONDS}, seven days`)
      .default(SECRET_OVERLAP_MS / MS_PER_SECOND)
      .meta({ description: 'How long previous secrets sign as well. 0: not at all.' }),
    end_previous_secret: endPreviousSecret,
    secret,
  })
  .meta({ id: 'RotateWebhookSecret' });

export type CreateWebhookEndpoint = z.output<typeof createWebhookEndpointSchema>;
export type UpdateWebhookEndpoint = z.output<typeof updateWebhookEndpointSchema>;
export type RotateWebhookSecret = z.output<typeof rotateWebhookSecretSchema>;
export type Deliver = z.output<typeof deliverSchema>;
