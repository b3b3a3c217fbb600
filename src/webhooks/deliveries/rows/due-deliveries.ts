/** Reads due deliveries, and the data of their events, for many lanes at once. A lane is the queue of one endpoint. */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { Batcher } from '../../../platform/batcher.js';
import type { Clock } from '../../../platform/clock.js';
import type { DatabaseHandle } from '../../../stores/database/connect.js';
import { kindOf } from '../../../stores/database/database-kind.js';
import { jsonRows, textList } from '../../../stores/database/json-rows.js';
import type { Tables } from '../../../stores/database/schema.js';
import type { LaneEndpoint } from './lanes.js';
import { holdBlocked } from './order.js';

/**
 * A due delivery. `cycle` and `attempts` are compared when the result is written, to detect changes by other processes.
 */
export interface DueDelivery {
  readonly id: string;
  readonly eventId: string;
  readonly endpointId: string;
  /** Resource of the event; null if the event has none. */
  readonly resource: string | null;
  /** Number of attempts so far in this cycle. */
  readonly attempts: number;
  /** Number of replays. Each replay starts a new cycle of attempts. */
  readonly cycle: number;
  /** Times in milliseconds since the epoch. */
  readonly createdAt: number;
  readonly dueAt: number;
  /** Size of the event's data in bytes, for memory limits. 0 if the event was deleted. */
  readonly dataBytes: number;
  /** Whether an earlier delivery of the same resource has not ended. Always false for unordered endpoints. */
  readonly isBlocked: boolean;
  /** Version of the endpoint at the time of the read; null if the endpoint was deleted. */
  readonly endpointVersion: number | null;
}

/** A lane whose due deliveries are read. */
export interface LaneToRead {
  readonly endpointId: string;
  /** IDs of deliveries that the lane already has. */
  readonly except: readonly string[];
}

/** Options for a query for several lanes. */
export interface DueQuery {
  readonly nowMs: number;
  /** Maximum number of deliveries per lane. */
  readonly most: number;
  /** Whether the endpoints are ordered, so that `isBlocked` must be computed. */
  readonly isOrdered: boolean;
}

/** The content of an event, for its webhook body. */
export interface EventPayload {
  readonly id: string;
  readonly type: string;
  readonly accountId: string;
  readonly occurredAt: number;
  /** JSON text, byte for byte as accepted. */
  readonly dataText: string;
}

/**
 * Reads due deliveries by endpoint ID, longest due first. The result has no entry for endpoints without due deliveries.
 */
export async function readDue(
  db: Kysely<Tables>,
  lanes: readonly LaneToRead[],
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
    from ${dueOf(kindOf(db), lanes, query)} order by d.due_at, d.id
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

/** Returns a `from` clause with the first due deliveries of each lane as `d`. The search needs only the index. */
function dueOf(
  kind: DatabaseHandle['kind'],
  lanes: readonly LaneToRead[],
  { nowMs, most }: DueQuery,
): RawBuilder<unknown> {
  const laneRows = jsonRows(
    kind,
    [{ name: 'lane_endpoint_id', type: 'text' }],
    lanes.map(({ endpointId }) => [endpointId]),
    'lanes',
  );
  const exceptIds = lanes.flatMap(({ except }) => except);
  const notExcluded = exceptIds.length === 0 ? sql`` : sql`and p.id not in ${textList(kind, exceptIds)}`;
  const firstDue = (column: string): RawBuilder<unknown> => sql`(
    select ${sql.raw(column)} from webhook_delivery as p
    where p.state = 'pending' and p.endpoint_id = lane_endpoint_id and p.due_at <= ${nowMs} ${notExcluded}
    order by p.due_at, p.id limit ${most})`;
  return kind === 'postgres'
    ? sql`${laneRows} cross join lateral ${firstDue('p.*')} as d`
    : sql`${laneRows} cross join webhook_delivery as d on d.rowid in ${firstDue('p.rowid')}`;
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
 * Reads the content of events by event ID. The content can be large, so call this only after the attempt has its slot.
 * The result has no entry for deleted events.
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

/** Maximum number of lanes per query. */
const LANES_AT_ONCE = 64;

/** Due deliveries of one lane. */
export interface DuePage {
  readonly due: readonly DueDelivery[];
  /** Whether more due deliveries may exist. */
  readonly hasMore: boolean;
}

interface DueRequest {
  readonly endpointId: string;
  readonly isOrdered: boolean;
  readonly most: number;
  readonly except: readonly string[];
}

/** DueReader reads due deliveries, and combines the reads of many lanes into few queries. */
export class DueReader {
  private readonly reads: Batcher<DueRequest, readonly DueDelivery[]>;

  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
  ) {
    this.reads = new Batcher((requests) => this.readAll(requests), { most: LANES_AT_ONCE });
  }

  /**
   * Reads due deliveries of a lane. Holds deliveries that must wait for an earlier delivery, and leaves them out of the
   * result. Rejects if the database fails.
   * @param except IDs of deliveries that the lane already has.
   */
  async readPage({ id, isOrdered }: LaneEndpoint, most: number, except: readonly string[]): Promise<DuePage> {
    const due = await this.reads.add({ endpointId: id, isOrdered, most, except });
    const blocked = due.filter(({ isBlocked }) => isBlocked).map((each) => each.id);
    await holdBlocked(this.db, id, blocked, this.clock.now());
    return { due: due.filter(({ isBlocked }) => !isBlocked), hasMore: due.length === most };
  }

  private async readAll(requests: readonly DueRequest[]): Promise<readonly (readonly DueDelivery[])[]> {
    const byEndpoint = new Map<string, readonly DueDelivery[]>();
    // Most endpoints are unordered and have the same limit, so there are few groups.
    const groups = Map.groupBy(requests, ({ most, isOrdered }) => `${most} ${isOrdered}`);
    for (const group of groups.values()) {
      const { most, isOrdered } = group[0]!;
      const found = await readDue(this.db, group, { nowMs: this.clock.now(), most, isOrdered });
      for (const [endpointId, due] of found) byEndpoint.set(endpointId, due);
    }
    return requests.map(({ endpointId }) => byEndpoint.get(endpointId) ?? []);
  }
}
