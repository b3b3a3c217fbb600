/**
 * Counts waiting deliveries for metrics. Counts per endpoint are limited, so that a long queue costs no more than a
 * short one.
 */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Tables } from '../../../stores/database/schema.js';
import type { WebhookEndpointTable } from '../../../stores/database/tables/webhook-tables.js';

/** Maximum count per endpoint and state. */
const MOST_COUNTED = 1_000;

/** The backlog at an instant. */
export interface Backlog {
  /** Endpoints that are not deleted. */
  readonly endpoints: Readonly<Record<WebhookEndpointTable['status'], number>>;
  readonly deliveries: {
    /** Due for an attempt. */
    readonly due: number;
    /** Scheduled for later. */
    readonly later: number;
    /** Held back behind an earlier delivery of an ordered endpoint. */
    readonly held: number;
    /** Waiting for a paused or disabled endpoint. */
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

/** Counts endpoints and waiting deliveries. Rejects as the database does. */
export async function readBacklog(db: Kysely<Tables>, nowMs: number, most = MOST_COUNTED): Promise<Backlog> {
  // States are literals, because the planner does not match a partial index to a parameter.
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
