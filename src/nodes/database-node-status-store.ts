/**
 * Stores the status reports of nodes in PostgreSQL, for gateways that share a database but no Redis. Times are
 * milliseconds by the database's clock. SQLite needs no such store, because only one machine uses a SQLite database.
 */
import { sql, type Kysely } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import {
  MAX_NODES,
  NODE_STATUS_LIFETIME_MS,
  type NodeStatusStore,
  type StoredNodeStatus,
} from './node-status-store.js';

/** The database's current time, in milliseconds since the epoch. */
const NOW_MS = sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`;

/** Each row of `node_statement` is the last status report of one node, written at `said_at`. */
export class DatabaseNodeStatusStore implements NodeStatusStore {
  constructor(private readonly db: Kysely<Tables>) {}

  async saveStatus(id: string, text: string): Promise<void> {
    await this.db
      .deleteFrom('node_statement')
      .where('said_at', '<', sql<number>`${NOW_MS} - ${NODE_STATUS_LIFETIME_MS}`)
      .execute();
    await this.db
      .insertInto('node_statement')
      .values({ id, said_at: NOW_MS, statement: text })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ said_at: NOW_MS, statement: text }))
      .execute();
  }

  async listStatuses(): Promise<StoredNodeStatus[]> {
    const rows = await this.db
      .selectFrom('node_statement')
      .select(['id', 'statement', sql<number>`${NOW_MS} - said_at`.as('age')])
      .where('said_at', '>=', sql<number>`${NOW_MS} - ${NODE_STATUS_LIFETIME_MS}`)
      .orderBy('said_at', 'desc')
      .limit(MAX_NODES)
      .execute();
    return rows.map(({ id, statement, age }) => ({ id, text: statement, ageMs: age }));
  }

  async removeStatus(id: string): Promise<void> {
    await this.db.deleteFrom('node_statement').where('id', '=', id).execute();
  }

  close(): void {
    // The database handle belongs to the caller.
  }
}
