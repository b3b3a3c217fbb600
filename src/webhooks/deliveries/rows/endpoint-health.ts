/** How it stands with endpoints, as their owners see it: since when they fail, how often, when they last did not. */
import { sql, type RawBuilder } from 'kysely';
import type { DatabaseHandle } from '../../../stores/database/connect.js';
import { jsonRows, type JsonColumn } from '../../../stores/database/json-rows.js';

/** What some attempts say of an endpoint. */
export interface EndpointHealth {
  readonly endpointId: string;
  /** The last success among them; null: there was none. */
  readonly succeededAtMs: number | null;
  /** Failed attempts after that, and the first of them. */
  readonly failures: number;
  readonly failingSinceMs: number | null;
}

const COLUMNS: readonly JsonColumn[] = [
  { name: 'of_endpoint', type: 'text' },
  { name: 'succeeded_at', type: 'bigint' },
  { name: 'more_failures', type: 'bigint' },
  { name: 'since', type: 'bigint' },
];

/** Adds what attempts say to what is known of their endpoints; each endpoint once. */
export function healthUpdate(kind: DatabaseHandle['kind'], health: readonly EndpointHealth[]): RawBuilder<unknown> {
  const rows = health
    .toSorted((one, other) => (one.endpointId < other.endpointId ? -1 : 1))
    .map((each) => [each.endpointId, each.succeededAtMs, each.failures, each.failingSinceMs]);
  return sql`
    update webhook_endpoint set last_success_at = coalesce(succeeded_at, last_success_at),
      failing_since = case when succeeded_at is null then coalesce(failing_since, since) else since end,
      failures = case when succeeded_at is null then failures else 0 end + more_failures
    from ${jsonRows(kind, COLUMNS, rows, 'health')} where id = of_endpoint`;
}
