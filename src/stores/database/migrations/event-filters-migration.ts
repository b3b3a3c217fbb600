/** Indexes the events of an account by type and by resource, for filtered lists. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const INDEXES = [
  `create index event_type on event (account_id, type, id)`,
  // Most events of the gateway itself have no resource. They don't update this index.
  `create index event_resource on event (account_id, resource, id) where resource is not null`,
];

/**
 * Without these indexes, a filter with few matches reads all events of the account. With 200,000 events, that is 70 ms
 * on SQLite, during which no other statement runs. Each index takes about 75 bytes per event.
 */
export const eventFilters: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const index of INDEXES) await sql.raw(index).execute(db);
  },
};
