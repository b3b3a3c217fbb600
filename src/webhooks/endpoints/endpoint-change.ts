/** Applies changes to the row of a webhook endpoint. */
import type { AuditAction } from '../../records/audit-actions.js';
import type { WebhookEndpointTable } from '../../stores/database/tables/webhook-tables.js';
import type { UpdateWebhookEndpoint } from './endpoint-fields.js';

/** Returns the row after the changes, with a new version. Fields that the changes do not contain stay the same. */
export function changedEndpoint(
  before: WebhookEndpointTable,
  changes: UpdateWebhookEndpoint,
  nowMs: number,
): WebhookEndpointTable {
  const status = changes.status ?? before.status;
  const hasNewStatus = status !== before.status;
  const hasNewUrl = changes.url !== undefined && changes.url !== before.url;
  // After a change of the URL, or after someone enabled the endpoint, earlier failures no longer count.
  const isFresh = hasNewUrl || (hasNewStatus && status === 'enabled');
  return {
    ...before,
    url: changes.url ?? before.url,
    description: changes.description ?? before.description,
    event_types: changes.event_types === undefined ? before.event_types : JSON.stringify(changes.event_types),
    retry_schedule: scheduleOf(before, changes),
    ordered: changes.ordered === undefined ? before.ordered : Number(changes.ordered),
    rate_per_second: changes.rate_per_second === undefined ? before.rate_per_second : changes.rate_per_second,
    concurrency: changes.concurrency === undefined ? before.concurrency : changes.concurrency,
    timeout_ms: changes.timeout_ms === undefined ? before.timeout_ms : changes.timeout_ms,
    status,
    disabled_reason: hasNewStatus ? (status === 'disabled' ? 'operator' : null) : before.disabled_reason,
    status_changed_at: hasNewStatus ? nowMs : before.status_changed_at,
    url_set_at: hasNewUrl ? nowMs : (before.url_set_at ?? before.updated_at),
    failing_since: isFresh ? null : before.failing_since,
    failures: isFresh ? 0 : before.failures,
    updated_at: nowMs,
    version: before.version + 1,
  };
}

/** Returns the audit action for a change: that of the new status, or an update if the status stays the same. */
export function statusAction(before: WebhookEndpointTable, after: WebhookEndpointTable): AuditAction {
  if (before.status === after.status) return 'webhook_endpoint.updated';
  return `webhook_endpoint.${after.status}`;
}

function scheduleOf(before: WebhookEndpointTable, { retry_schedule: pauses }: UpdateWebhookEndpoint): string | null {
  if (pauses === undefined) return before.retry_schedule;
  return pauses === null ? null : JSON.stringify(pauses);
}
