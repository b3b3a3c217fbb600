/**
 * Defines the webhook endpoint resources of the admin API. Only the responses that create or rotate a secret contain
 * the secret.
 */
import { z } from 'zod';
import type { WebhookEndpoint } from '../../webhooks/endpoints/endpoint-rows.js';
import { MAX_COUNTED } from '../../webhooks/management/delivery-reader.js';
import type { WebhookPublicKey } from '../../webhooks/signing/secret-store.js';
import { encode } from '../openapi/encode.js';
import { countField, idField, timeField as time, versionField } from '../openapi/fields.js';
import { listSchema } from '../request/list.js';

/** Maximum number of public keys of an endpoint. */
const MAX_KEYS = 10;

const publicKeysField = z
  .array(
    z.object({
      key: z.string().max(60).meta({
        description: 'ed25519 key for `v1a` signatures.',
        example: 'whpk_hY0Qm0YqPzvJ9xJt1wq2mF5tC1b8o2m7jYxkXq0n3eA=',
      }),
      created_at: time,
      expires_at: time.nullable().meta({ description: 'Null: the current key.' }),
    }),
  )
  .max(MAX_KEYS);

const limitOrNull = (most: number) => z.int().min(1).max(most).nullable().meta({ description: 'Null: the default.' });

export const webhookEndpointSchema = z
  .object({
    id: idField('whe'),
    account_id: idField('acc'),
    url: z.string().max(2_048),
    description: z.string().max(500),
    event_types: z.array(z.string().max(100)).max(100).meta({ description: 'Event types and families; empty: all.' }),
    retry_schedule: z.array(z.int().min(1).max(86_400)).max(20).nullable().meta({
      description: 'Pauses in seconds after the first attempt and each further one; null: the default schedule.',
    }),
    ordered: z.boolean(),
    rate_per_second: limitOrNull(1_000),
    concurrency: limitOrNull(50),
    timeout_ms: limitOrNull(30_000),
    status: z.enum(['enabled', 'paused', 'disabled']).meta({
      description: 'Events wait for up to 30 days while the endpoint is not enabled.',
    }),
    disabled_reason: z
      .enum(['failing', 'gone', 'operator'])
      .nullable()
      .meta({
        description:
          '`failing`: no successful delivery for five days. `gone`: the receiver responded with 410. ' +
          '`operator`: disabled by an operator.',
      }),
    status_changed_at: time,
    failing_since: time.nullable().meta({ description: 'Null: the last attempt succeeded, or there was none.' }),
    failures: countField.meta({ description: 'Failed attempts since then.' }),
    last_success_at: time.nullable(),
    public_keys: publicKeysField.meta({
      description: 'The current key first, followed by previous ones during a rotation.',
    }),
    created_at: time,
    updated_at: time,
    version: versionField,
  })
  .meta({ id: 'WebhookEndpoint' });

export const webhookEndpointDetailSchema = webhookEndpointSchema
  .extend({
    waiting: z
      .int()
      .min(0)
      .max(MAX_COUNTED)
      .meta({ description: `Pending deliveries; ${MAX_COUNTED} means this many or more.` }),
  })
  .meta({ id: 'WebhookEndpointDetail' });

export const webhookEndpointWithSecretSchema = webhookEndpointSchema
  .extend({
    secret: z
      .string()
      .regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/)
      .max(100)
      .meta({ description: 'The secret, shown only in this response. It is stored encrypted.' }),
  })
  .meta({ id: 'WebhookEndpointWithSecret' });

export const webhookEndpointListSchema = listSchema('WebhookEndpointList', webhookEndpointSchema);

export type WebhookEndpointResource = z.output<typeof webhookEndpointSchema>;
export type WebhookEndpointDetailResource = z.output<typeof webhookEndpointDetailSchema>;
export type WebhookEndpointWithSecretResource = z.output<typeof webhookEndpointWithSecretSchema>;

/** Returns the API resource of an endpoint. Times have the offset of the account's time zone. */
export function webhookEndpointResource(
  endpoint: WebhookEndpoint,
  publicKeys: readonly WebhookPublicKey[],
  timeZone: string,
): WebhookEndpointResource {
  return encode(webhookEndpointSchema, { ...endpoint, ordered: endpoint.isOrdered, publicKeys }, timeZone);
}
