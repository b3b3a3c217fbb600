/**
 * Stores events and their deliveries in the same transaction as the change that the events report. Webhook workers send
 * the deliveries later. If several processes add the same event, the database stores the event once.
 */
import { sql, type CompiledQuery, type Kysely, type Selectable } from 'kysely';
import type { Clock } from '../platform/clock.js';
import { decodeCursor, pageOf, type Page, type PageRequest } from '../stores/database/cursor.js';
import { kindOf } from '../stores/database/database-kind.js';
import { sortsIdsByTime } from '../stores/database/id-order.js';
import { firstIdAt, newId } from '../stores/database/ids.js';
import { jsonRows, textList, type JsonColumn } from '../stores/database/json-rows.js';
import type { Tables } from '../stores/database/schema.js';
import type { EventTable } from '../stores/database/tables/webhook-tables.js';
import { executeBatch } from '../stores/database/statement-batch.js';
import { METRICS } from '../platform/metrics.js';
import { parseExact } from '../platform/json/exact-json.js';
import { Problem } from '../platform/problems/errors.js';
import { endpointsQuery, fanOut } from './fan-out.js';
import type { Event, ForeignEvent, NewEvent } from './event-types.js';
import { neverStopped, type IsStopped } from '../platform/repeated-run.js';

const ROWS_PER_STATEMENT = 500;

/** Columns whose values differ between the events of one call. */
type DifferentColumn = Exclude<keyof EventTable, 'created_at' | 'keep_until'>;

const COLUMNS: readonly (JsonColumn & { readonly name: DifferentColumn })[] = [
  { name: 'id', type: 'text' },
  { name: 'account_id', type: 'text' },
  { name: 'type', type: 'text' },
  { name: 'dedupe_key', type: 'text' },
  { name: 'source', type: 'text' },
  { name: 'resource', type: 'text' },
  { name: 'occurred_at', type: 'bigint' },
  { name: 'fingerprint', type: 'text' },
  { name: 'data', type: 'text' },
];

/** Retention of events, in ms. Longer than any period in which duplicates of an event must be detected. */
const EVENT_RETENTION_MS = 90 * 24 * 3_600_000;

const OWN_SOURCE = 'trailgate' as const;

/** NewlyAdded is an event that the call has stored. */
export interface NewlyAdded {
  /** `evt_…` */
  readonly id: string;
  /** Number of endpoints that get a delivery of the event. */
  readonly deliveries: number;
}

/** AddedEvents is the result of `addEvents`. */
export interface AddedEvents {
  /** New events by dedupe key. If several callers add the same event, exactly one caller gets the event in this map. */
  readonly events: ReadonlyMap<string, NewlyAdded>;
  /** Webhook endpoints with work to do. Pass them to `WorkSignal` after the commit. */
  readonly endpointIds: readonly string[];
}

export const NOTHING_ADDED: AddedEvents = { events: new Map(), endpointIds: [] };

/**
 * Stores events that do not exist yet, with their deliveries, in one transaction. If `db` is already a transaction,
 * uses that transaction, so that the events are committed together with the caller's change.
 */
export async function addEvents(
  db: Kysely<Tables>,
  events: readonly (NewEvent | ForeignEvent)[],
  nowMs: number,
): Promise<AddedEvents> {
  if (events.length === 0) return NOTHING_ADDED;
  return db.isTransaction
    ? addInTransaction(db, events, nowMs)
    : db.transaction().execute((trx) => addInTransaction(trx, events, nowMs));
}

/** Counts the gateway's own events in the metrics. Call it after the commit. */
export function countOwnEvents(count: number): void {
  if (count > 0) METRICS.events.series(OWN_SOURCE, 'accepted').inc(count);
}

async function addInTransaction(
  trx: Kysely<Tables>,
  events: readonly (NewEvent | ForeignEvent)[],
  nowMs: number,
): Promise<AddedEvents> {
  // IDs follow the order of the events.
  const rows = events.map((event) => rowOf(event, nowMs));
  const queries = [
    ...insertQueries(trx, rows, nowMs),
    endpointsQuery(
      trx,
      rows.map((row) => row.account_id),
    ),
  ];
  const results = await executeBatch(trx, queries);
  const inserted = results.slice(0, -1).reduce((sum, { numAffectedRows = 0n }) => sum + Number(numAffectedRows), 0);
  // Usually all events are new. Then every ID was inserted, and no query for the inserted IDs is needed.
  const ids = inserted === rows.length ? undefined : await insertedIds(trx, rows);
  const added = rows.flatMap((row, at) => {
    const event = events[at]!;
    const except = 'exceptEndpointId' in event ? event.exceptEndpointId : undefined;
    const { id, account_id: accountId, type, resource, dedupe_key: dedupeKey } = row;
    const isNew = ids === undefined || ids.has(id);
    return isNew ? [{ id, accountId, type, resource, exceptEndpointId: except, dedupeKey }] : [];
  });
  if (added.length === 0) return NOTHING_ADDED;
  const { deliveries, endpointIds } = await fanOut(trx, added, results.at(-1)!, nowMs);
  const keys = added.map(({ id, dedupeKey }) => [dedupeKey, { id, deliveries: deliveries.get(id) ?? 0 }] as const);
  return { events: new Map(keys), endpointIds };
}

/** Returns the queries that insert events. Existing events with the same dedupe key stay unchanged. */
function insertQueries(trx: Kysely<Tables>, rows: readonly EventRow[], nowMs: number): CompiledQuery[] {
  // All processes insert in the same order, so that concurrent transactions wait for each other instead of deadlocking.
  const sorted = rows.toSorted((one, other) => (one.dedupe_key < other.dedupe_key ? -1 : 1));
  const names = sql.join(COLUMNS.map(({ name }) => sql.ref(name)));
  const queries: CompiledQuery[] = [];
  for (let at = 0; at < sorted.length; at += ROWS_PER_STATEMENT) {
    const values = sorted.slice(at, at + ROWS_PER_STATEMENT).map((row) => COLUMNS.map(({ name }) => row[name]));
    // Without `where true`, SQLite would parse `on` as part of a join.
    const query = sql`
      insert into event (${names}, created_at, keep_until)
      select ${names}, cast(${nowMs} as bigint), cast(${nowMs + EVENT_RETENTION_MS} as bigint)
      from ${jsonRows(kindOf(trx), COLUMNS, values, 'added')} where true
      on conflict (dedupe_key) do nothing`;
    queries.push(query.compile(trx));
  }
  return queries;
}

/**
 * Returns the IDs of the rows that this call inserted. Each call creates new IDs, so no other call can have inserted a
 * row with one of these IDs.
 */
async function insertedIds(trx: Kysely<Tables>, rows: readonly EventRow[]): Promise<ReadonlySet<string>> {
  const ids = textList(
    kindOf(trx),
    rows.map(({ id }) => id),
  );
  const found = await trx.selectFrom('event').select('id').where('id', 'in', ids).execute();
  return new Set(found.map(({ id }) => id));
}

/** EventQuery selects a page of an account's events. */
export interface EventQuery extends PageRequest {
  readonly accountId: string;
  readonly type?: string | undefined;
  readonly resource?: string | undefined;
  /** Range of creation times in milliseconds since the epoch, both ends included. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** EventOutbox reads stored events, and deletes old ones. */
export class EventOutbox {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns a page of an account's events, latest first. Rejects with Problem `invalid_cursor` if the cursor belongs to
   * another list.
   */
  async list({ accountId, cursor, limit, type, resource, sinceMs, untilMs }: EventQuery): Promise<Page<Event>> {
    const filters = JSON.stringify([type, resource, sinceMs, untilMs]);
    // Cursors contain the name of their list. Without filters, the name must not change, so that existing cursors stay
    // valid.
    const list = filters === '[null,null,null,null]' ? `events:${accountId}` : `events:${accountId}:${filters}`;
    let query = this.db
      .selectFrom('event')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('id', 'desc')
      .limit(limit + 1);
    if (type !== undefined) query = query.where('type', '=', type);
    if (resource !== undefined) query = query.where('resource', '=', resource);
    // No index has `created_at`. The database filters the account's events while it reads them in the order of their
    // IDs. The bound of the IDs ends the reading.
    if (sinceMs !== undefined) {
      query = query.where('created_at', '>=', sinceMs);
      if (await sortsIdsByTime(this.db)) query = query.where('id', '>=', firstIdAt('evt', sinceMs));
    }
    if (untilMs !== undefined) query = query.where('created_at', '<=', untilMs);
    if (cursor !== undefined) query = query.where('id', '<', decodeCursor(list, cursor));
    return pageOf(list, limit, await query.execute(), eventOf);
  }

  /** Returns an event. Rejects with Problem `resource_not_found` if no event has this ID. */
  async get(id: string): Promise<Event> {
    const row = await this.db.selectFrom('event').selectAll().where('id', '=', id).executeTakeFirst();
    if (row === undefined) throw new Problem('resource_not_found', { detail: 'Not found. No event has this id.' });
    return eventOf(row);
  }

  /** Deletes events past their retention, in batches. Keeps events that still have deliveries. */
  async deleteOld(isStopped: IsStopped = neverStopped): Promise<void> {
    while (!isStopped()) {
      const old = this.db
        .selectFrom('event')
        .select('id')
        .where('keep_until', '<', this.clock.now())
        .where(({ not, exists, selectFrom }) =>
          not(exists(selectFrom('webhook_delivery').select('id').whereRef('event_id', '=', 'event.id'))),
        )
        .orderBy('keep_until')
        .limit(ROWS_PER_STATEMENT);
      const { numDeletedRows } = await this.db.deleteFrom('event').where('id', 'in', old).executeTakeFirst();
      if (numDeletedRows < ROWS_PER_STATEMENT) return;
    }
  }
}

type EventRow = Pick<EventTable, DifferentColumn>;

function rowOf(event: NewEvent | ForeignEvent, nowMs: number): EventRow {
  return {
    id: newId('evt', nowMs),
    account_id: event.accountId,
    type: event.type,
    dedupe_key: event.dedupeKey,
    resource: event.resource ?? null,
    ...('dataText' in event
      ? {
          data: event.dataText,
          source: event.source,
          occurred_at: event.occurredAtMs,
          fingerprint: event.fingerprint,
        }
      : { data: JSON.stringify(event.data), source: OWN_SOURCE, occurred_at: nowMs, fingerprint: null }),
  };
}

function eventOf(row: Selectable<EventTable>): Event {
  return {
    id: row.id,
    type: row.type,
    accountId: row.account_id,
    data: parseExact(row.data),
    source: row.source,
    resource: row.resource,
    occurredAt: row.occurred_at,
    createdAt: row.created_at,
  };
}
