/** Finds events that were stored before. */
import type { CompiledQuery, Kysely, QueryResult } from 'kysely';
import { kindOf } from '../../stores/database/database-kind.js';
import { textList } from '../../stores/database/json-rows.js';
import type { Tables } from '../../stores/database/schema.js';
import type { ForeignEvent } from '../../outbox/event-types.js';

/** A stored event. */
export interface KnownEvent {
  /** Null if it will be added in this transaction. */
  readonly id: string | null;
  readonly fingerprint: string | null;
  readonly deliveries: number;
}

/** Returns those of the events that are stored already, by dedupe key. */
export async function knownEvents(
  trx: Kysely<Tables>,
  events: readonly ForeignEvent[],
): Promise<Map<string, KnownEvent>> {
  return events.length === 0 ? new Map() : knownIn(await trx.executeQuery(knownEventsQuery(trx, events)));
}

/** Returns the query of `knownEvents`, to be combined with others. */
export function knownEventsQuery(trx: Kysely<Tables>, events: readonly ForeignEvent[]): CompiledQuery {
  return trx
    .selectFrom('event')
    .select(['id', 'dedupe_key', 'fingerprint'])
    .select(({ selectFrom, fn }) =>
      selectFrom('webhook_delivery')
        .select(fn.countAll<number>().as('count'))
        .whereRef('event_id', '=', 'event.id')
        .as('deliveries'),
    )
    .where('dedupe_key', 'in', textList(kindOf(trx), [...new Set(events.map(({ dedupeKey }) => dedupeKey))]))
    .compile();
}

/** Reads the result of `knownEventsQuery`, by dedupe key. */
export function knownIn({ rows }: QueryResult<unknown>): Map<string, KnownEvent> {
  return new Map(
    (rows as readonly KnownRow[]).map(({ id, dedupe_key: key, fingerprint, deliveries }) => [
      key,
      { id, fingerprint, deliveries: Number(deliveries ?? 0) },
    ]),
  );
}

interface KnownRow {
  readonly id: string;
  readonly dedupe_key: string;
  readonly fingerprint: string | null;
  readonly deliveries: number | string | null;
}
