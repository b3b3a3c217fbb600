/**
 * The outbox: what has happened to customers, written in the transaction of the change, until the gateway has taken it
 * in. The order of its rows is the order of the changes of each customer.
 */
import type { Kysely, Selectable } from 'kysely';
import type { Clock } from '../model/clock.js';
import type { Customer } from '../model/customer.js';
import { newEventId, toJson } from '../model/customer.js';
import type { Database } from '../database/connection.js';
import type { OutboxTable, Tables } from '../database/schema.js';

/** Refused events are kept for so long, for whoever looks for the reason. */
const REFUSED_RETENTION_MS = 30 * 86_400_000;

export type CustomerEventType = 'customer.created' | 'customer.updated' | 'customer.deleted';

/** An event that waits for the gateway. */
export type WaitingEvent = Selectable<OutboxTable>;

/** Outbox keeps the events of customers for the gateway. */
export class Outbox {
  private onAdded: () => void = () => undefined;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Calls `listener` whenever `wake` is called. */
  listen(listener: () => void): void {
    this.onAdded = listener;
  }

  /** Adds an event in the transaction of its change; call `wake` behind the commit. */
  async add(trx: Kysely<Tables>, accountId: string, type: CustomerEventType, customer: Customer): Promise<void> {
    await trx
      .insertInto('outbox')
      .values({
        event_id: newEventId(),
        type,
        account_id: accountId,
        resource: customer.id,
        data: JSON.stringify(toJson(customer)),
        occurred_at: this.clock.now(),
        refused_at: null,
      })
      .execute();
  }

  /** Says that events were added. */
  wake(): void {
    this.onAdded();
  }

  /** The oldest events that wait, in their order. */
  async oldest(most: number): Promise<WaitingEvent[]> {
    return this.database.tables
      .selectFrom('outbox')
      .selectAll()
      .where('refused_at', 'is', null)
      .orderBy('id')
      .limit(most)
      .execute();
  }

  /** Forgets events that the gateway has taken in. */
  async remove(events: readonly WaitingEvent[]): Promise<void> {
    const ids = events.map(({ id }) => id);
    await this.database.tables.deleteFrom('outbox').where('id', 'in', ids).execute();
  }

  /** Puts an event aside that the gateway will never take in, so that it does not stand before the others. */
  async putAside({ id }: WaitingEvent): Promise<void> {
    const now = this.clock.now();
    const { tables } = this.database;
    await tables.updateTable('outbox').set({ refused_at: now }).where('id', '=', id).execute();
    await tables
      .deleteFrom('outbox')
      .where('refused_at', '<', now - REFUSED_RETENTION_MS)
      .execute();
  }
}
