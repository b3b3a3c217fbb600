/** Defines the webhook delivery resources of the admin API: a summary for lists, and the detail with every attempt. */
import { z } from 'zod';
import type { WebhookAttemptTable } from '../../stores/database/tables/webhook-tables.js';
import { eventTypeField, instantField } from '../../webhooks/endpoints/endpoint-fields.js';
import type { Delivery, DeliveryDetail } from '../../webhooks/management/delivery-reader.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { countField, idField, timeField as time } from '../openapi/fields.js';
import { listSchema, pageQuerySchema } from '../request/list.js';

const STATUSES = ['pending', 'succeeded', 'failed'] as const;
const REASONS = ['exhausted', 'test_failed', 'gone', 'aborted', 'expired', 'skipped', 'endpoint_deleted'] as const;

const statusCode = z.int().min(0).max(999).nullable().meta({ description: 'Null: no response.' });
const error = z
  .string()
  .max(200)
  .nullable()
  .meta({ description: 'Why there was no response.', example: 'connect_timeout' });

const webhookDeliverySchema = z
  .object({
    id: idField('whd'),
    account_id: idField('acc'),
    endpoint_id: idField('whe'),
    event_id: idField('evt').meta({ description: 'Also the `webhook-id` of every attempt.' }),
    type: z.string().max(100).nullable().meta({ description: 'Null if the event has expired.' }),
    kind: z.enum(['event', 'test']),
    status: z.enum(STATUSES),
    reason: z
      .enum(REASONS)
      .nullable()
      .meta({
        description:
          'Why the delivery failed permanently. `exhausted`: no attempts left. `test_failed`: tests are ' +
          'not retried. `gone`: the receiver responded with 410. `aborted`: the receiver asked to stop. ' +
          '`expired`: pending for too long. `skipped`: not selected when the endpoint was enabled.',
      }),
    is_held: z.boolean().meta({ description: 'Whether it waits for another delivery of its resource.' }),
    resource: z.string().max(200).nullable(),
    attempts: countField.meta({ description: 'Number of attempts since its creation or last replay.' }),
    replays: countField,
    next_attempt_at: time.nullable().meta({ description: 'Null if no attempt is planned.' }),
    last_attempt: z.object({ at: time, status_code: statusCode, error }).nullable(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'WebhookDelivery' });

const attemptSchema = z.object({
  id: idField('wha'),
  number: z.int().min(1).max(1_000).meta({ description: 'Starts over with each replay.' }),
  replay: countField.meta({ description: 'Number of the replay it belongs to; 0: none.' }),
  at: time,
  status_code: statusCode,
  duration_ms: countField,
  error,
  address: z.string().max(45).nullable().meta({ description: 'IP address of the receiver.' }),
  response_body: z.string().max(2_048).nullable().meta({ description: 'First kilobyte of the response body.' }),
});

export const webhookDeliveryDetailSchema = webhookDeliverySchema
  .extend({
    attempt_log: z.array(attemptSchema).max(200).meta({ description: 'Oldest first.' }),
    payload: z
      .string()
      .max(1_048_576)
      .nullable()
      .meta({ description: 'Exact request body; null if the event has expired.' }),
  })
  .meta({ id: 'WebhookDeliveryDetail' });

export const webhookDeliveryListSchema = listSchema('WebhookDeliveryList', webhookDeliverySchema);

const instant = instantField.optional();

export const deliveryQuerySchema = pageQuerySchema.extend({
  status: z
    .enum(STATUSES, `must be one of ${STATUSES.join(', ')}`)
    .optional()
    .meta({ description: 'Filters by status.' }),
  type: eventTypeField.optional().meta({ description: 'Filters by event type.' }),
  since: instant.meta({ description: 'Only deliveries created at this time or later.' }),
  until: instant.meta({ description: 'Only deliveries created at this time or earlier.' }),
});

export type DeliveryQueryFields = z.output<typeof deliveryQuerySchema>;
export type WebhookDeliveryResource = z.output<typeof webhookDeliverySchema>;
export type WebhookDeliveryDetailResource = z.output<typeof webhookDeliveryDetailSchema>;

/** Returns the API resource of a delivery. Times have the offset of the account's time zone. */
export function webhookDeliveryResource(
  { row, type, lastAttempt }: Delivery,
  timeZone: string,
): WebhookDeliveryResource {
  const isHeld = row.state === 'held';
  return {
    id: row.id,
    account_id: row.account_id,
    endpoint_id: row.endpoint_id,
    event_id: row.event_id,
    type,
    kind: row.kind,
    status: row.state === 'held' ? 'pending' : row.state,
    reason: reasonOf(row),
    is_held: isHeld,
    resource: row.resource,
    attempts: row.attempts,
    replays: row.cycle,
    next_attempt_at: row.state === 'pending' ? formatWithOffset(row.due_at, timeZone) : null,
    last_attempt: lastAttempt && {
      at: formatWithOffset(lastAttempt.at, timeZone),
      status_code: lastAttempt.status_code,
      error: lastAttempt.error,
    },
    created_at: formatWithOffset(row.created_at, timeZone),
    updated_at: formatWithOffset(row.updated_at, timeZone),
  };
}

/**
 * Returns why a delivery failed permanently, else null. A failed test that was never resent reports `test_failed`,
 * because tests are not retried.
 */
function reasonOf({ kind, cycle, reason }: Delivery['row']): WebhookDeliveryResource['reason'] {
  return kind === 'test' && cycle === 0 && reason === 'exhausted' ? 'test_failed' : reason;
}

/** Returns the API resource of a delivery with every attempt and its payload. */
export function webhookDeliveryDetail(detail: DeliveryDetail, timeZone: string): WebhookDeliveryDetailResource {
  return {
    ...webhookDeliveryResource(detail, timeZone),
    attempt_log: detail.attempts.map((attempt) => attemptResource(attempt, timeZone)),
    payload: detail.payload,
  };
}

function attemptResource(attempt: WebhookAttemptTable, timeZone: string): z.output<typeof attemptSchema> {
  return {
    id: attempt.id,
    number: attempt.number,
    replay: attempt.cycle,
    at: formatWithOffset(attempt.at, timeZone),
    status_code: attempt.status_code,
    duration_ms: attempt.duration_ms,
    error: attempt.error,
    address: attempt.address,
    response_body: attempt.response_body,
  };
}
