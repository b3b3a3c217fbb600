/**
 * Implements a transactional outbox. Each event is written in the transaction of its change, and kept until the gateway
 * accepts it. Events that the gateway rejects are not sent again, and are kept for at least 30 days. The order of the
 * rows is the order of the changes.
 */
import type { Kysely, Selectable } from 'kysely';
import type { Clock } from '../model/clock.js';
import type { Customer } from '../model/customer.js';
import { newEventId, toJson } from '../model/customer.js';
import type { Database } from '../database/connection.js';
import type { OutboxTable, Tables } from '../database/schema.js';

/** Time for which rejected events are kept for troubleshooting, in ms. */
const REFUSED_RETENTION_MS = 30 * 86_400_000;

export type CustomerEventType = 'customer.created' | 'customer.updated' | 'customer.deleted';

/** Row of the outbox. */
export type WaitingEvent = Selectable<OutboxTable>;

/** Outbox stores the events of customers in the database until the gateway accepts them. */
export class Outbox {
  private onAdded: () => void = () => undefined;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Registers the function that `wake` calls. */
  listen(listener: () => void): void {
    this.onAdded = listener;
  }

  /**
   * Adds an event in the transaction of its change. Call `wake` after the commit.
   * @param customer state after the change, or before the deletion
   */
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

  /** Notifies the listener that events were added. */
  wake(): void {
    this.onAdded();
  }

  /** Returns at most `most` events that wait to be sent, oldest first. */
  async findOldest(most: number): Promise<WaitingEvent[]> {
    return this.database.tables
      .selectFrom('outbox')
      .selectAll()
      .where('refused_at', 'is', null)
      .orderBy('id')
      .limit(most)
      .execute();
  }

  /** Deletes events that the gateway has accepted. */
  async remove(events: readonly WaitingEvent[]): Promise<void> {
    const ids = events.map(({ id }) => id);
    await this.database.tables.deleteFrom('outbox').where('id', 'in', ids).execute();
  }

  /**
   * Marks an event as rejected, so that it does not block other events. Also deletes rejected events after their
   * retention.
   */
  async markRejected({ id }: WaitingEvent): Promise<void> {
    const now = this.clock.now();
    const { tables } = this.database;
    await tables.updateTable('outbox').set({ refused_at: now }).where('id', '=', id).execute();
    await tables
      .deleteFrom('outbox')
      .where('refused_at', '<', now - REFUSED_RETENTION_MS)
      .execute();
  }
}
