/**
 * Counts waiting deliveries for metrics. The counts per endpoint are limited, so that a long queue does not make the
 * query slow.
 */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Tables } from '../../../stores/database/schema.js';
import type { WebhookEndpointTable } from '../../../stores/database/tables/webhook-tables.js';

/** Maximum count per endpoint and state. */
const MAX_COUNTED = 1_000;

/** Numbers of endpoints and waiting deliveries. */
export interface Backlog {
  /** Number of endpoints by status, without deleted endpoints. */
  readonly endpoints: Readonly<Record<WebhookEndpointTable['status'], number>>;
  readonly deliveries: {
    /** Deliveries to enabled endpoints that are due for an attempt. */
    readonly due: number;
    /** Deliveries to enabled endpoints that are scheduled for later. */
    readonly later: number;
    /** Deliveries to enabled, ordered endpoints that wait for an earlier delivery of the same resource. */
    readonly held: number;
    /** All waiting deliveries to paused and disabled endpoints. */
    readonly paused: number;
  };
}

interface Row {
  readonly status: WebhookEndpointTable['status'];
  readonly endpoints: number | string;
  readonly due: number | string;
  readonly later: number | string;
  readonly held: number | string;
}

/** Counts endpoints and waiting deliveries. Rejects if the database fails. @param most limit per endpoint and state. */
export async function readBacklog(db: Kysely<Tables>, nowMs: number, most = MAX_COUNTED): Promise<Backlog> {
  // Write states as literals, because the planner does not use a partial index for a parameter.
  const counted = (where: RawBuilder<unknown>): RawBuilder<number> => sql`(select count(*) from (
    select 1 from webhook_delivery as d where d.endpoint_id = e.id and ${where} limit ${most}) as counted)`;
  const { rows } = await sql<Row>`
    select status, count(*) as endpoints, sum(due) as due, sum(later) as later, sum(held) as held from (
      select e.status as status,
        ${counted(sql`d.state = 'pending' and d.due_at <= ${nowMs}`)} as due,
        ${counted(sql`d.state = 'pending' and d.due_at > ${nowMs}`)} as later,
        ${counted(sql`d.state = 'held'`)} as held
      from webhook_endpoint as e where e.deleted_at is null) as each_endpoint
    group by status
  `.execute(db);
  const endpoints = { enabled: 0, paused: 0, disabled: 0 };
  const deliveries = { due: 0, later: 0, held: 0, paused: 0 };
  for (const { status, endpoints: count, ...waiting } of rows) {
    endpoints[status] = Number(count);
    const [due, later, held] = [Number(waiting.due), Number(waiting.later), Number(waiting.held)];
    if (status === 'enabled') Object.assign(deliveries, { due, later, held });
    else deliveries.paused += due + later + held;
  }
  return { endpoints, deliveries };
}
