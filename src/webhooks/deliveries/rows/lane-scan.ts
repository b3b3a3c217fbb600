/**
 * Finds lanes whose due time is later than the due time of a pending delivery, for example after a lost notification.
 * The deliveries are authoritative. The due times of lanes, notifications, and the memory of lane owners are only
 * hints.
 */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Clock } from '../../../platform/clock.js';
import { kindOf } from '../../../stores/database/database-kind.js';
import { jsonRows, type JsonColumn } from '../../../stores/database/json-rows.js';
import type { Tables } from '../../../stores/database/schema.js';
import { LATEST_RETRY_MS } from './retry-schedule.js';

/** Maximum number of lanes per scan. The next scan continues after them. */
const LANES_A_SCAN = 5_000;

/** A lane whose due time is too late. */
interface Late {
  readonly endpoint_id: string;
  /** Earliest due time of the lane's pending deliveries. */
  readonly earliest: number;
}

const COLUMNS: readonly JsonColumn[] = [
  { name: 'late_id', type: 'text' },
  { name: 'earliest', type: 'bigint' },
];

/** LaneScan finds lanes whose due time is too late, and corrects the due time. */
export class LaneScan {
  /** ID of the last endpoint that was scanned; empty to start from the beginning. */
  private scannedTo = '';

  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
  ) {}

  /**
   * Checks the next lanes, and corrects their due times.
   * @returns IDs of endpoints with due deliveries whose lane had a later due time; normally none.
   */
  async scan(): Promise<string[]> {
    await this.correctTimes();
    const { rows } = await this.lanesWithWork(this.scannedTo).execute(this.db);
    this.scannedTo = rows.length < LANES_A_SCAN ? '' : (rows.at(-1)?.id ?? '');
    return this.findLate(rows.map(({ id }) => id));
  }

  /** Checks the lanes of these endpoints, and corrects their due times. @returns IDs as described for `scan`. */
  async findLate(endpointIds: readonly string[]): Promise<string[]> {
    if (endpointIds.length === 0) return [];
    const ids = sql`(select looked_id from ${jsonRows(
      kindOf(this.db),
      [{ name: 'looked_id', type: 'text' }],
      endpointIds.map((id) => [id]),
      'looked',
    )})`;
    const { rows } = await sql<Late>`
      select endpoint_id, earliest from (
        select l.endpoint_id, l.due_at, (select min(d.due_at) from webhook_delivery as d
          where d.endpoint_id = l.endpoint_id and d.state = 'pending') as earliest
        from webhook_lane as l join webhook_endpoint as e on e.id = l.endpoint_id
        where l.endpoint_id in ${ids} and e.status = 'enabled' and e.deleted_at is null) as lane
      where due_at > earliest order by endpoint_id
    `.execute(this.db);
    if (rows.length > 0) await this.wake(rows);
    const now = this.clock.now();
    return rows.filter(({ earliest }) => earliest <= now).map((row) => row.endpoint_id);
  }

  /** Returns the IDs of the endpoints that have due deliveries, regardless of the due times of their lanes. */
  async findDue(endpointIds: readonly string[]): Promise<string[]> {
    if (endpointIds.length === 0) return [];
    const looked = jsonRows(
      kindOf(this.db),
      [{ name: 'looked_id', type: 'text' }],
      endpointIds.map((id) => [id]),
      'looked',
    );
    const { rows } = await sql<{ id: string }>`
      select looked_id as id from ${looked} where exists (select 1 from webhook_delivery as d
        where d.endpoint_id = looked_id and d.state = 'pending' and d.due_at <= ${this.clock.now()})
    `.execute(this.db);
    return rows.map(({ id }) => id);
  }

  /** Sets the due time of each late lane to the earliest due time of its pending deliveries. */
  private async wake(late: readonly Late[]): Promise<void> {
    const rows = late.map((row) => [row.endpoint_id, row.earliest]);
    await sql`
      update webhook_lane set due_at = earliest from ${jsonRows(kindOf(this.db), COLUMNS, rows, 'late')}
      where endpoint_id = late_id and due_at > earliest
    `.execute(this.db);
  }

  /** Makes deliveries due whose due time is later than any retry can be. A clock that was ahead wrote that time. */
  private async correctTimes(): Promise<void> {
    const now = this.clock.now();
    await this.db
      .updateTable('webhook_delivery')
      .set({ due_at: now })
      .where('state', '=', 'pending')
      .where('due_at', '>', Math.ceil(now + LATEST_RETRY_MS))
      .execute();
  }

  /**
   * Returns a query for the next endpoints with pending deliveries. A loose index scan jumps from one endpoint to the
   * next without reading all pending deliveries.
   */
  private lanesWithWork(after: string): RawBuilder<{ id: string }> {
    return sql<{ id: string }>`
      with recursive lanes (id, number) as (
        select min(endpoint_id), 1 from webhook_delivery where state = 'pending' and endpoint_id > ${after}
        union all
        select (select min(d.endpoint_id) from webhook_delivery as d
          where d.state = 'pending' and d.endpoint_id > lanes.id), number + 1
        from lanes where lanes.id is not null and number < ${sql.lit(LANES_A_SCAN)})
      select id from lanes where id is not null order by id`;
  }
}
