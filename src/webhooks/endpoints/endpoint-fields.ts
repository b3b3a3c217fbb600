/** Request schemas for webhook endpoints, shared by the admin API, its OpenAPI description and the store. */
import { z } from 'zod';
import { plainText } from '../../records/plain-text.js';
import { endPreviousSecret } from '../../accounts/api-key-fields.js';
import {
  LONGEST_PAUSE_MS,
  LONGEST_SCHEDULE_MS,
  MOST_RETRIES,
  SHORTEST_PAUSE_MS,
} from '../deliveries/rows/retry-schedule.js';
import { parseWebhookSecret, SECRET_OVERLAP_MS } from '../signing/webhook-secret.js';

const MS_PER_SECOND = 1_000;
const MOST_EVENT_TYPES = 100;
const LONGEST_URL = 2_048;
const LONGEST_TYPE = 100;
const MOST_A_SECOND = 1_000;
const MOST_AT_A_TIME = 50;
const SHORTEST_TIMEOUT_MS = 1_000;
const LONGEST_TIMEOUT_MS = 30_000;
const LONGEST_OVERLAP_SECONDS = 7 * 86_400;
const SECRET_MESSAGE = 'must be whsec_ and 24 to 64 bytes in base64 behind it';

const shortest = SHORTEST_PAUSE_MS / MS_PER_SECOND;
const longest = LONGEST_PAUSE_MS / MS_PER_SECOND;

/** `customer.created`, `customer.*` */
const PATTERN = /^[a-z0-9_]+(?:\.[a-z0-9_]+)*\.(?:[a-z0-9_]+|\*)$/;
/** Format of an event type. */
const EVENT_TYPE_PATTERN = /^[a-z0-9_]+(?:\.[a-z0-9_]+)+$/;

/** An event type. */
export const eventTypeField = z
  .string()
  .max(LONGEST_TYPE)
  .regex(EVENT_TYPE_PATTERN, 'must be resource.verb, for example customer.created')
  .meta({ example: 'customer.created' });

// The destination is checked by the current outbound rules, which have their own messages.
const url = z.string().min(1, 'must not be empty').max(LONGEST_URL, 'must have at most 2,048 characters').meta({
  description: 'Where events are posted to: an absolute https URL on the public internet.',
  example: 'https://shop.example.com/webhooks',
});

/** An event type or a family of types. */
export const eventPatternField = z
  .string()
  .max(LONGEST_TYPE)
  .regex(PATTERN, 'must be a type such as customer.created, or a family such as customer.*');

const eventTypes = z
  .array(eventPatternField)
  .max(MOST_EVENT_TYPES)
  .overwrite((list) => [...new Set(list)])
  .meta({
    description: 'Types of events, and families such as `customer.*`; empty: all, also those that are to come.',
    example: ['customer.created'],
  });

const retrySchedule = z
  .array(z.int().min(shortest, `must be at least ${shortest}`).max(longest, `must be at most ${longest}, a day`))
  .max(MOST_RETRIES, `must have at most ${MOST_RETRIES} pauses`)
  .refine(
    (pauses) => pauses.reduce((sum, pause) => sum + pause, 0) * MS_PER_SECOND <= LONGEST_SCHEDULE_MS,
    'must come to seven days at most, all pauses together',
  )
  .nullable()
  .meta({
    description:
      'Pauses in seconds before the second attempt and those behind it; empty: one attempt. Null: ten attempts in ' +
      'about three days.',
    example: [5, 300, 1_800],
  });

const small = (most: number) => z.int().min(1, 'must be at least 1').max(most, `must be at most ${most}`).nullable();

const fields = {
  url,
  description: plainText(500).trim().meta({ description: 'For people, at most 500 characters.' }),
  event_types: eventTypes,
  retry_schedule: retrySchedule,
  ordered: z
    .boolean()
    .meta({ description: 'Events of one resource arrive one after the other: behind one that fails they wait.' }),
  rate_per_second: small(MOST_A_SECOND).meta({ description: 'Most attempts in a second; null: 50.' }),
  concurrency: small(MOST_AT_A_TIME).meta({ description: 'Most attempts at a time; null: 8.' }),
  timeout_ms: z
    .int()
    .min(SHORTEST_TIMEOUT_MS, `must be at least ${SHORTEST_TIMEOUT_MS}`)
    .max(LONGEST_TIMEOUT_MS, `must be at most ${LONGEST_TIMEOUT_MS}`)
    .nullable()
    .meta({ description: 'For a whole attempt, in milliseconds; null: the usual.' }),
};

const secret = z
  .string()
  .max(100)
  .regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, { error: SECRET_MESSAGE, abort: true })
  .refine((text) => parseWebhookSecret(text) !== null, SECRET_MESSAGE)
  .optional()
  .meta({ description: 'A secret that its receiver has already: 24 to 64 bytes in base64. Left out: one is made.' });

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

/** A time in RFC 3339 format with an offset. */
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
      'With `status: enabled`: which of the events that have waited go out now. The others are given up as ' +
      '`skipped`, and can be replayed. Left out: all.',
  });

export const updateWebhookEndpointSchema = z
  .strictObject({
    ...fields,
    status: z.enum(['enabled', 'paused', 'disabled']).meta({
      description:
        '`paused`: events wait, for 30 days at most. `enabled`: they go out. Only operators disable an endpoint ' +
        'themselves, and only they enable it then.',
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
      .meta({ description: 'How long everything is signed with the old secrets, too; 0: not at all.' }),
    end_previous_secret: endPreviousSecret,
    secret,
  })
  .meta({ id: 'RotateWebhookSecret' });

export type CreateWebhookEndpoint = z.output<typeof createWebhookEndpointSchema>;
export type UpdateWebhookEndpoint = z.output<typeof updateWebhookEndpointSchema>;
export type RotateWebhookSecret = z.output<typeof rotateWebhookSecretSchema>;
export type Deliver = z.output<typeof deliverSchema>;
