/** What owners of lanes read, of many lanes together: which deliveries are due, and what they bring. */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { DatabaseHandle } from '../../../stores/database/connect.js';
import { kindOf } from '../../../stores/database/database-kind.js';
import { jsonRows, textList } from '../../../stores/database/json-rows.js';
import type { Tables } from '../../../stores/database/schema.js';

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
  /** Of its endpoint as it was then; null where that is gone. */
  readonly endpointVersion: number | null;
}

/** A lane that is read. */
export interface AskedLane {
  readonly endpointId: string;
  /** Deliveries that the owner has in hand. */
  readonly except: readonly string[];
}

/** What is asked for, of lanes that are read together. */
export interface DueQuery {
  readonly nowMs: number;
  /** Of each lane. */
  readonly most: number;
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

/** Reads deliveries that are due, by endpoint, those first that have been for longest. Without any, it is not in it. */
export async function readDue(
  db: Kysely<Tables>,
  asked: readonly AskedLane[],
  query: DueQuery,
): Promise<ReadonlyMap<string, DueDelivery[]>> {
  const isBlocked = query.isOrdered
    ? sql`case when exists (select 1 from webhook_delivery as o where o.endpoint_id = d.endpoint_id
        and o.resource = d.resource and o.state in ('pending', 'held') and o.id < d.id) then 1 else 0 end`
    : sql`0`;
  const { rows } = await sql<Row>`
    select d.id, d.event_id, d.endpoint_id, d.resource, d.attempts, d.cycle, d.created_at, d.due_at,
      ${isBlocked} as is_blocked, (select octet_length(e.data) from event as e where e.id = d.event_id) as data_bytes,
      (select w.version from webhook_endpoint as w where w.id = d.endpoint_id) as endpoint_version
    from ${dueOf(kindOf(db), asked, query)} order by d.due_at, d.id
  `.execute(db);
  const byEndpoint = new Map<string, DueDelivery[]>();
  for (const row of rows) {
    const delivery = deliveryOf(row);
    const others = byEndpoint.get(delivery.endpointId);
    if (others === undefined) byEndpoint.set(delivery.endpointId, [delivery]);
    else others.push(delivery);
  }
  return byEndpoint;
}

/** The first of each lane, from its index, as `d`: neither reads what else is pending there. */
function dueOf(
  kind: DatabaseHandle['kind'],
  asked: readonly AskedLane[],
  { nowMs, most }: DueQuery,
): RawBuilder<unknown> {
  const lanes = jsonRows(
    kind,
    [{ name: 'asked_id', type: 'text' }],
    asked.map(({ endpointId }) => [endpointId]),
    'asked',
  );
  const inHand = asked.flatMap(({ except }) => except);
  const others = inHand.length === 0 ? sql`` : sql`and p.id not in ${textList(kind, inHand)}`;
  const first = (column: string): RawBuilder<unknown> => sql`(
    select ${sql.raw(column)} from webhook_delivery as p
    where p.state = 'pending' and p.endpoint_id = asked_id and p.due_at <= ${nowMs} ${others}
    order by p.due_at, p.id limit ${most})`;
  return kind === 'postgres'
    ? sql`${lanes} cross join lateral ${first('p.*')} as d`
    : sql`${lanes} cross join webhook_delivery as d on d.rowid in ${first('p.rowid')}`;
}

function deliveryOf(row: Row): DueDelivery {
  return {
    id: row.id,
    eventId: row.event_id,
    endpointId: row.endpoint_id,
    resource: row.resource,
    attempts: row.attempts,
    cycle: row.cycle,
    createdAt: row.created_at,
    dueAt: row.due_at,
    dataBytes: row.data_bytes ?? 0,
    isBlocked: row.is_blocked === 1,
    endpointVersion: row.endpoint_version,
  };
}

interface Row {
  readonly id: string;
  readonly event_id: string;
  readonly endpoint_id: string;
  readonly resource: string | null;
  readonly attempts: number;
  readonly cycle: number;
  readonly created_at: number;
  readonly due_at: number;
  readonly is_blocked: number;
  readonly data_bytes: number | null;
  readonly endpoint_version: number | null;
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
    .where('id', 'in', textList(kindOf(db), [...new Set(eventIds)]))
    .execute();
  return new Map(
    rows.map(({ id, type, account_id: accountId, occurred_at: occurredAt, data: dataText }) => [
      id,
      { id, type, accountId, occurredAt, dataText },
    ]),
  );
}
