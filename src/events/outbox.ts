/**
 * The outbox: events stand in the database, in the transaction of what they tell about, before anybody is told. Any
 * number of processes may add the same event; it is there once.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '../platform/clock.js';
import { decodeCursor, pageOf, type Page, type PageRequest } from '../database/cursor.js';
import { newId } from '../database/ids.js';
import type { EventTable, Tables } from '../database/schema.js';
import type { Event, EventData, EventType, NewEvent } from './event-types.js';

const ROWS_PER_STATEMENT = 500;

/** Longer than a period in which an event must not be told twice. */
const EVENT_RETENTION_MS = 90 * 24 * 3_600_000;

/**
 * Adds events that are not there yet. Give it a transaction where they belong to a change.
 * @returns dedupe keys of those that were added: exactly one caller gets each.
 */
export async function addEvents(
  db: Kysely<Tables>,
  events: readonly NewEvent[],
  nowMs: number,
): Promise<ReadonlySet<string>> {
  const added = new Set<string>();
  // Ids in the order of the events; rows in one order for all processes: two that add the
  // same wait for each other, no deadlock.
  const rows = events
    .map((event) => rowOf(event, nowMs))
    .toSorted((one, other) => (one.dedupe_key < other.dedupe_key ? -1 : 1));
  for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) {
    const inserted = await db
      .insertInto('event')
      .values(rows.slice(at, at + ROWS_PER_STATEMENT))
      .onConflict((conflict) => conflict.column('dedupe_key').doNothing())
      .returning('dedupe_key')
      .execute();
    for (const { dedupe_key: key } of inserted) added.add(key);
  }
  return added;
}

export class EventOutbox {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
  ) {}

  /** Events of an account, newest first. */
  async list({ accountId, cursor, limit }: PageRequest & { readonly accountId: string }): Promise<Page<Event>> {
    const list = `events:${accountId}`;
    let query = this.db
      .selectFrom('event')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('id', 'desc')
      .limit(limit + 1);
    if (cursor !== undefined) query = query.where('id', '<', decodeCursor(list, cursor));
    return pageOf(list, limit, await query.execute(), eventOf);
  }

  /** Forgets what is older than `EVENT_RETENTION_MS`. */
  async deleteOld(): Promise<void> {
    await this.db
      .deleteFrom('event')
      .where('created_at', '<', this.clock.now() - EVENT_RETENTION_MS)
      .execute();
  }
}

function rowOf({ type, accountId, data, dedupeKey }: NewEvent, nowMs: number): EventTable {
  return {
    id: newId('evt', nowMs),
    account_id: accountId,
    type,
    data: JSON.stringify(data),
    dedupe_key: dedupeKey,
    created_at: nowMs,
  };
}

function eventOf({ id, type, account_id: accountId, data, created_at: createdAt }: EventTable): Event {
  return {
    id,
    type: type as EventType,
    accountId,
    data: JSON.parse(data) as EventData[EventType],
    createdAt,
  };
}
