/** Converts rows of webhook endpoints for the admin API and for the audit log. */
import type { Transaction } from 'kysely';
import type { AuditedFields } from '../../records/audit-log.js';
import { kindOf } from '../../stores/database/database-kind.js';
import type { Tables } from '../../stores/database/schema.js';
import type { WebhookEndpointTable } from '../../stores/database/tables/webhook-tables.js';
import { Problem } from '../../platform/problems/errors.js';

/** A webhook endpoint. Times are in milliseconds since the epoch. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly accountId: string;
  readonly url: string;
  readonly description: string;
  /** Event types, and families such as `customer.*`; empty for all types. */
  readonly eventTypes: readonly string[];
  /** Pauses before the second and later attempts, in seconds; null for the default. */
  readonly retrySchedule: readonly number[] | null;
  readonly isOrdered: boolean;
  /** Null for the default, like `concurrency` and `timeoutMs`. */
  readonly ratePerSecond: number | null;
  readonly concurrency: number | null;
  readonly timeoutMs: number | null;
  readonly status: WebhookEndpointTable['status'];
  readonly disabledReason: WebhookEndpointTable['disabled_reason'];
  readonly statusChangedAt: number;
  /** Time at which the current URL was set. If unknown, the time of the latest change of the endpoint. */
  readonly urlSetAt: number;
  /** Time of the first failure since the latest success; null without such failures. */
  readonly failingSince: number | null;
  /** Number of failed attempts since the latest success. */
  readonly failures: number;
  readonly lastSuccessAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
}

/** Converts a database row to an endpoint for the admin API. */
export function webhookEndpointOf(row: WebhookEndpointTable): WebhookEndpoint {
  return {
    id: row.id,
    accountId: row.account_id,
    url: row.url,
    description: row.description,
    eventTypes: JSON.parse(row.event_types) as string[],
    retrySchedule: row.retry_schedule === null ? null : (JSON.parse(row.retry_schedule) as number[]),
    isOrdered: row.ordered === 1,
    ratePerSecond: row.rate_per_second,
    concurrency: row.concurrency,
    timeoutMs: row.timeout_ms,
    status: row.status,
    disabledReason: row.disabled_reason,
    statusChangedAt: row.status_changed_at,
    urlSetAt: row.url_set_at ?? row.updated_at,
    failingSince: row.failing_since,
    failures: row.failures,
    lastSuccessAt: row.last_success_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: row.version,
  };
}

/** Returns the fields that users can change, by their names in the API. */
export function changeableFields(row: WebhookEndpointTable): AuditedFields {
  return {
    url: row.url,
    description: row.description,
    event_types: JSON.parse(row.event_types) as unknown,
    retry_schedule: row.retry_schedule === null ? null : (JSON.parse(row.retry_schedule) as unknown),
    ordered: row.ordered === 1,
    rate_per_second: row.rate_per_second,
    concurrency: row.concurrency,
    timeout_ms: row.timeout_ms,
    status: row.status,
  };
}

/** Removes the query from the URL for the audit log, because queries of receivers can contain tokens. */
export function auditedEndpoint(fields: AuditedFields): AuditedFields {
  const { url } = fields;
  return typeof url === 'string' ? { ...fields, url: url.replace(/\?.*$/s, '?…') } : fields;
}

/** Reads an endpoint's row, and locks it until the transaction ends. Rejects with `resource_not_found`. */
export async function lockWebhookEndpoint(trx: Transaction<Tables>, id: string): Promise<WebhookEndpointTable> {
  const row = await trx
    .selectFrom('webhook_endpoint')
    .selectAll()
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .$if(kindOf(trx) === 'postgres', (select) => select.forUpdate())
    .executeTakeFirst();
  return row ?? webhookEndpointNotFound();
}

/** @throws Problem `resource_not_found` always. */
export function webhookEndpointNotFound(): never {
  throw new Problem('resource_not_found', { detail: 'There is no webhook endpoint with this ID.' });
}
