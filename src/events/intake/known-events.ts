/** Events that were handed in before, by their names. */
import type { Kysely } from 'kysely';
import { kindOf } from '../../database/database-kind.js';
import { textList } from '../../database/json-rows.js';
import type { Tables } from '../../database/schema.js';
import type { ForeignEvent } from '../model/event-types.js';

/** What is known of an event by its name. */
export interface KnownEvent {
  /** Null: it is going to be added in this transaction. */
  readonly id: string | null;
  readonly fingerprint: string | null;
  readonly deliveries: number;
}

/** Those of these events that are there already, by dedupe key. */
export async function knownEvents(
  trx: Kysely<Tables>,
  events: readonly ForeignEvent[],
): Promise<Map<string, KnownEvent>> {
  if (events.length === 0) return new Map();
  const rows = await trx
    .selectFrom('event')
    .select(['id', 'dedupe_key', 'fingerprint'])
    .select(({ selectFrom, fn }) =>
      selectFrom('webhook_delivery')
        .select(fn.countAll<number>().as('count'))
        .whereRef('event_id', '=', 'event.id')
        .as('deliveries'),
    )
    .where('dedupe_key', 'in', textList(kindOf(trx), [...new Set(events.map(({ dedupeKey }) => dedupeKey))]))
    .execute();
  return new Map(
    rows.map(({ id, dedupe_key: key, fingerprint, deliveries }) => [
      key,
      { id, fingerprint, deliveries: Number(deliveries ?? 0) },
    ]),
  );
}
