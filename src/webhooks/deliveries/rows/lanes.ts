/**
 * Ownership of webhook endpoints. A lane has one owner at a time, through a lease that the owner renews. So order,
 * concurrency and rate of an endpoint are exact in the memory of one process. If an owner dies, others take its lanes
 * after the leases expire. Unrecorded attempts are then repeated: delivery is at least once.
 *
 * With several processes, leases use the database's clock. A process whose clock runs ahead then takes nothing from
 * others.
 */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Clock } from '../../../platform/clock.js';
import type { DatabaseHandle } from '../../../stores/database/connect.js';
import { kindOf } from '../../../stores/database/database-kind.js';
import { textList } from '../../../stores/database/json-rows.js';
import type { Tables } from '../../../stores/database/schema.js';
import { ASLEEP, inOrder } from '../../../outbox/lane-rows.js';
import { USUAL_RETRY_SCHEDULE_MS } from './retry-schedule.js';

/** Duration of a lease without renewal: longer than any attempt. */
export const LEASE_MS = 30_000;

/** A lane that was released because it was idle. */
export interface SleepingLane {
  readonly endpointId: string;
  /** Next due time; `ASLEEP` if nothing waits or the endpoint is not enabled. */
  readonly dueAtMs: number;
}

/** Lanes claims, renews and releases lanes for one process. */
export class Lanes {
  /** Creates the store. @param owner name unique to this start of the process. */
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly kind: DatabaseHandle['kind'],
    private readonly clock: Clock,
    readonly owner: string,
  ) {}

  /** Claims due lanes without an owner, longest waiting first. */
  claim(most: number): Promise<string[]> {
    return this.claimWhere(sql`due_at <= ${this.clock.now()}`, most);
  }

  /**
   * Claims these lanes if they have no owner, even if they are not due. Notified lanes may have an outdated due time.
   */
  async claimThese(endpointIds: readonly string[]): Promise<string[]> {
    if (endpointIds.length === 0) return [];
    return this.claimWhere(sql`endpoint_id in ${textList(this.kind, endpointIds)}`, endpointIds.length);
  }

  /** Renews leases. @returns the endpoints that this process still owns. The others were taken or deleted. */
  async renew(endpointIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (endpointIds.length === 0) return new Set();
    const { rows } = await sql<{ endpoint_id: string }>`
      update webhook_lane set owned_until = ${this.now()} + ${sql.lit(LEASE_MS)}
      where endpoint_id in ${inOrder(this.db, this.own(endpointIds))} returning endpoint_id
    `.execute(this.db);
    return new Set(rows.map((row) => row.endpoint_id));
  }

  /**
   * Releases idle lanes and sets their due time to that of the next delivery. Check them again a little later
   * (`LaneScan.findLate`), because deliveries that were being committed are not seen here.
   */
  async releaseIdle(endpointIds: readonly string[]): Promise<SleepingLane[]> {
    if (endpointIds.length === 0) return [];
    const { rows } = await sql<{ endpoint_id: string; due_at: number }>`
      update webhook_lane set owner = null, owned_until = 0, due_at = case
        when exists (select 1 from webhook_endpoint as e
          where e.id = webhook_lane.endpoint_id and e.status = 'enabled' and e.deleted_at is null)
        then coalesce((select min(d.due_at) from webhook_delivery as d
          where d.endpoint_id = webhook_lane.endpoint_id and d.state = 'pending'), ${sql.lit(ASLEEP)})
        else ${sql.lit(ASLEEP)} end
      where endpoint_id in ${inOrder(this.db, this.own(endpointIds))} returning endpoint_id, due_at
    `.execute(this.db);
    return rows.map(({ endpoint_id: endpointId, due_at: dueAtMs }) => ({ endpointId, dueAtMs }));
  }

  /**
   * Releases all lanes but these without changing their due time, so that another process can take them immediately.
   */
  async release(except: readonly string[] = []): Promise<void> {
    const others = except.length === 0 ? sql`` : sql` and endpoint_id not in ${textList(this.kind, except)}`;
    const own = inOrder(this.db, sql`owner = ${this.owner}${others}`);
    const { db } = this;
    await sql`update webhook_lane set owner = null, owned_until = 0 where endpoint_id in ${own}`.execute(db);
  }

  /** Ends all leases of other owners. Call it only if no other process can be running. */
  async endOtherLeases(): Promise<void> {
    const { db } = this;
    await sql`
      update webhook_lane set owner = null, owned_until = 0 where owner is not null and owner <> ${this.owner}
    `.execute(db);
  }

  /**
   * Ends the leases of dead owners, so that the work of a killed process need not wait for its leases to expire.
   * @param isDead must return true only if the owner is certainly dead.
   */
  async endDeadLeases(isDead: (owner: string) => boolean): Promise<void> {
    const { db } = this;
    const rows = await db
      .selectFrom('webhook_lane')
      .select('owner')
      .distinct()
      .where('owner', 'is not', null)
      .execute();
    const dead = rows.flatMap(({ owner }) => (owner !== null && isDead(owner) ? [owner] : []));
    if (dead.length === 0) return;
    const which = inOrder(db, sql`owner in (${sql.join(dead)})`);
    await sql`update webhook_lane set owner = null, owned_until = 0 where endpoint_id in ${which}`.execute(db);
  }

  /** Returns the due time of the longest waiting lane without an owner, or undefined if there is none. */
  async findOldestUnowned(): Promise<number | undefined> {
    const { rows } = await sql<{ due_at: number }>`
      select due_at from webhook_lane where due_at <= ${this.clock.now()} and owned_until <= ${this.now()}
      order by due_at limit 1
    `.execute(this.db);
    return rows[0]?.due_at;
  }

  private async claimWhere(which: RawBuilder<unknown>, most: number): Promise<string[]> {
    const lock = this.kind === 'postgres' ? sql`for update skip locked` : sql``;
    // A lease that ends later than any current one was written by a clock that ran ahead.
    const free = sql`(owned_until <= ${this.now()} or owned_until > ${this.now()} + ${sql.lit(LEASE_MS)})`;
    const { rows } = await sql<{ endpoint_id: string }>`
      with taken as materialized (
        select endpoint_id from webhook_lane where ${which} and ${free} order by due_at limit ${most} ${lock})
      update webhook_lane set owner = ${this.owner}, owned_until = ${this.now()} + ${sql.lit(LEASE_MS)}
      where endpoint_id in (select endpoint_id from taken) returning endpoint_id
    `.execute(this.db);
    return rows.map((row) => row.endpoint_id);
  }

  private own(endpointIds: readonly string[]): RawBuilder<unknown> {
    return sql`endpoint_id in ${textList(this.kind, endpointIds)} and owner = ${this.owner}`;
  }

  /** Current time by the clock of leases. */
  private now(): RawBuilder<number> {
    return this.kind === 'postgres'
      ? sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
      : sql<number>`${this.clock.now()}`;
  }
}

/** Settings of a webhook endpoint for attempts. */
export interface LaneEndpoint {
  readonly id: string;
  readonly accountId: string;
  readonly url: string;
  /** Whether attempts may be made: enabled and not deleted. */
  readonly isEnabled: boolean;
  readonly isOrdered: boolean;
  readonly scheduleMs: readonly number[];
  /** Null for the default, as the next two. */
  readonly ratePerSecond: number | null;
  readonly concurrency: number | null;
  readonly timeoutMs: number | null;
  /** Whether the latest finished attempt succeeded. */
  readonly hasDoneWell: boolean;
  /** Incremented by every configuration change. */
  readonly version: number;
}

const COLUMNS = [
  'id',
  'account_id',
  'url',
  'status',
  'deleted_at',
  'ordered',
  'retry_schedule',
  'rate_per_second',
  'concurrency',
  'timeout_ms',
  'last_success_at',
  'failing_since',
  'version',
] as const;

const MS_PER_SECOND = 1_000;

/** Reads endpoints by ID. Missing ones are left out of the result. */
export async function readLaneEndpoints(db: Kysely<Tables>, ids: readonly string[]): Promise<LaneEndpoint[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('webhook_endpoint')
    .select(COLUMNS)
    .where('id', 'in', textList(kindOf(db), ids))
    .execute();
  return rows.map((row) => ({
    id: row.id,
    accountId: row.account_id,
    url: row.url,
    isEnabled: row.status === 'enabled' && row.deleted_at === null,
    isOrdered: row.ordered === 1,
    scheduleMs: row.retry_schedule === null ? USUAL_RETRY_SCHEDULE_MS : inMs(row.retry_schedule),
    ratePerSecond: row.rate_per_second,
    concurrency: row.concurrency,
    timeoutMs: row.timeout_ms,
    hasDoneWell: row.last_success_at !== null && row.failing_since === null,
    version: row.version,
  }));
}

function inMs(schedule: string): readonly number[] {
  return (JSON.parse(schedule) as number[]).map((seconds) => seconds * MS_PER_SECOND);
}
