/** What the owner of a lane reads: which deliveries are due, and what they bring. */
import { sql, type Kysely } from 'kysely';
import type { Tables } from '../../database/schema.js';

/** A delivery as it is attempted. Hand it back with the result: what has changed meanwhile is seen by its numbers. */
export interface DueDelivery {
  readonly id: string;
  readonly eventId: string;
  readonly endpointId: string;
  readonly resource: string | null;
  /** So far, in this cycle. */
  readonly attempts: number;
  /** How often it has been replayed. */
  readonly cycle: number;
  readonly createdAt: number;
  readonly dueAt: number;
  /** Of what its event says: so much memory an attempt takes. 0 where the event is kept no more. */
  readonly dataBytes: number;
  /** An older one of its resource is open: hold it where the endpoint wants order (`holdBlocked`). */
  readonly isBlocked: boolean;
}

/** Which are asked for. */
export interface DueQuery {
  readonly endpointId: string;
  readonly nowMs: number;
  readonly most: number;
  /** Those that the owner has in hand. */
  readonly except: readonly string[];
  /** Whether it matters what stands before them. */
  readonly isOrdered: boolean;
}

/** What an event says, as it goes out. */
export interface EventPayload {
  readonly id: string;
  readonly type: string;
  readonly accountId: string;
  readonly occurredAt: number;
  /** JSON, byte for byte what was accepted. */
  readonly dataText: string;
}

/** Reads deliveries that are due, those first that have been for longest. */
export async function readDue(db: Kysely<Tables>, query: DueQuery): Promise<DueDelivery[]> {
  const { endpointId, nowMs, most, except, isOrdered } = query;
  const others = except.length === 0 ? sql`` : sql`and d.id not in (${sql.join(except)})`;
  const isBlocked = isOrdered
    ? sql`case when exists (select 1 from webhook_delivery as o where o.endpoint_id = d.endpoint_id
        and o.resource = d.resource and o.state in ('pending', 'held') and o.id < d.id) then 1 else 0 end`
    : sql`0`;
  const { rows } = await sql<Row>`
    select d.id, d.event_id, d.resource, d.attempts, d.cycle, d.created_at, d.due_at, ${isBlocked} as is_blocked,
      (select octet_length(e.data) from event as e where e.id = d.event_id) as data_bytes
    from webhook_delivery as d where d.state = 'pending' and d.endpoint_id = ${endpointId} and d.due_at <= ${nowMs}
    ${others} order by d.due_at, d.id limit ${most}
  `.execute(db);
  return rows.map((row) => ({
    id: row.id,
    eventId: row.event_id,
    endpointId,
    resource: row.resource,
    attempts: row.attempts,
    cycle: row.cycle,
    createdAt: row.created_at,
    dueAt: row.due_at,
    dataBytes: row.data_bytes ?? 0,
    isBlocked: row.is_blocked === 1,
  }));
}

interface Row {
  readonly id: string;
  readonly event_id: string;
  readonly resource: string | null;
  readonly attempts: number;
  readonly cycle: number;
  readonly created_at: number;
  readonly due_at: number;
  readonly is_blocked: number;
  readonly data_bytes: number | null;
}

/**
 * Reads what events say, by their ids. Apart from the deliveries, because it may be large: read it when an attempt has
 * its place. An event that is not there any more is not in it.
 */
export async function readPayloads(
  db: Kysely<Tables>,
  eventIds: readonly string[],
): Promise<ReadonlyMap<string, EventPayload>> {
  if (eventIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('event')
    .select(['id', 'type', 'account_id', 'occurred_at', 'data'])
    .where('id', 'in', [...new Set(eventIds)])
    .execute();
  return new Map(
    rows.map(({ id, type, account_id: accountId, occurred_at: occurredAt, data: dataText }) => [
      id,
      { id, type, accountId, occurredAt, dataText },
    ]),
  );
}
