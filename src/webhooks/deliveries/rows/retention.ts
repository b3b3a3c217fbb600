/**
 * Expires deliveries that have waited too long, and deletes old deliveries with their attempts. Writes small batches,
 * so that new deliveries are not delayed.
 */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Clock } from '../../../platform/clock.js';
import { kindOf } from '../../../stores/database/database-kind.js';
import type { Tables } from '../../../stores/database/schema.js';
import { DELIVERY_RETENTION_MS } from '../../../outbox/fan-out.js';
import type { DueDelivery } from './due-deliveries.js';
import { lockLanes, releaseNext } from './order.js';
import type { WorkSignal } from '../../../outbox/work-signal.js';
import { neverStopped, type IsStopped } from '../../../platform/repeated-run.js';

/** Maximum number of rows per batch. */
const ROWS_AT_ONCE = 500;

interface ExpiredRow {
  readonly endpoint_id: string;
  readonly resource: string | null;
}

/** Expires a delivery whose event was deleted. @returns IDs of endpoints whose next delivery is due now. */
export async function expireDelivery(
  db: Kysely<Tables>,
  { id, endpointId, resource }: DueDelivery,
  nowMs: number,
): Promise<string[]> {
  return await db.transaction().execute(async (trx) => {
    await lockLanes(trx, [endpointId]);
    await trx
      .updateTable('webhook_delivery')
      .set({ state: 'failed', reason: 'expired', updated_at: nowMs })
      .where('id', '=', id)
      .where('state', '=', 'pending')
      .execute();
    return resource === null ? [] : await releaseNext(trx, [{ endpointId, resource }], nowMs);
  });
}

/** DeliveryRetention expires and deletes deliveries. */
export class DeliveryRetention {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
    private readonly signal: WorkSignal,
  ) {}

  /** Deletes old deliveries, expires deliveries that have waited too long, and deletes old endpoints. */
  async sweep(isStopped: IsStopped = neverStopped): Promise<void> {
    while ((await this.deleteSome()) === ROWS_AT_ONCE && !isStopped());
    while (!isStopped() && (await this.expireSome()) === ROWS_AT_ONCE);
    if (!isStopped()) await this.deleteEndpoints();
  }

  /** Deletes a batch of old deliveries that have ended. Returns their number. */
  private async deleteSome(): Promise<number> {
    const ended = sql`state in ('succeeded', 'failed') and keep_until <= ${this.clock.now()}`;
    const { numAffectedRows } = await sql`
      delete from webhook_delivery where id in ${this.batchOf(ended)}
    `.execute(this.db);
    return Number(numAffectedRows ?? 0);
  }

  /**
   * Expires a batch of deliveries that have waited too long, and returns their number. Expired deliveries stay visible,
   * and can be replayed, for another retention period.
   */
  private async expireSome(): Promise<number> {
    const now = this.clock.now();
    const open = sql`state in ('pending', 'held') and keep_until <= ${now}`;
    const { expired, released } = await this.db.transaction().execute(async (trx) => {
      const { rows } = await sql<{ endpoint_id: string }>`
        select distinct endpoint_id from webhook_delivery where id in ${this.batchOf(open, sql``)}
      `.execute(trx);
      await lockLanes(
        trx,
        rows.map((row) => row.endpoint_id),
      );
      const ended = await sql<ExpiredRow>`
        update webhook_delivery set state = 'failed', reason = 'expired', updated_at = ${now},
          keep_until = ${now + DELIVERY_RETENTION_MS}
        where id in ${this.batchOf(open)} returning endpoint_id, resource
      `.execute(trx);
      const resources = ended.rows.flatMap(({ endpoint_id: endpointId, resource }) =>
        resource === null ? [] : [{ endpointId, resource }],
      );
      return { expired: ended.rows.length, released: await releaseNext(trx, resources, now) };
    });
    this.signal.signalEndpoints(released);
    return expired;
  }

  /** Deletes the rows of endpoints that users deleted so long ago that no deliveries are left. */
  private async deleteEndpoints(): Promise<void> {
    await this.db
      .deleteFrom('webhook_endpoint')
      .where('deleted_at', '<=', this.clock.now() - 2 * DELIVERY_RETENTION_MS)
      .execute();
  }

  /**
   * Returns a subquery for a batch of delivery IDs. On PostgreSQL, skips rows that another transaction has locked,
   * unless `lock` is empty.
   */
  private batchOf(condition: RawBuilder<unknown>, lock = sql`for update skip locked`): RawBuilder<unknown> {
    const locked = kindOf(this.db) === 'postgres' ? lock : sql``;
    return sql`(select id from webhook_delivery where ${condition} order by keep_until limit ${sql.lit(ROWS_AT_ONCE)}
      ${locked})`;
  }
}
