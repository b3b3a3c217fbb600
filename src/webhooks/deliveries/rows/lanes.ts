/**
 * Stores which process owns the lane of each webhook endpoint. A lane is the queue of an endpoint. Each lane has one
 * owner at a time, through a lease that the owner renews. So one process can enforce order, concurrency and rate in its
 * memory. If an owner dies, other processes claim its lanes after the leases have expired. The new owners repeat
 * attempts that were not recorded, so webhooks are delivered at least once.
 *
 * On PostgreSQL, leases use the database's clock. So a process whose clock is ahead does not take lanes from others.
 */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Clock } from '../../../platform/clock.js';
import type { DatabaseHandle } from '../../../stores/database/connect.js';
import { kindOf } from '../../../stores/database/database-kind.js';
import { textList } from '../../../stores/database/json-rows.js';
import type { Tables } from '../../../stores/database/schema.js';
import { ASLEEP, inOrder } from '../../../outbox/lane-rows.js';
import { USUAL_RETRY_SCHEDULE_MS } from './retry-schedule.js';

/** Duration of a lease without renewal. No attempt may take longer. */
export const LEASE_MS = 30_000;

/** A lane that was released because it was idle. */
export interface SleepingLane {
  readonly endpointId: string;
  /** Next due time; `ASLEEP` if no delivery is waiting, or the endpoint is not enabled. */
  readonly dueAtMs: number;
}

/** Lanes claims, renews and releases lanes for one process. */
export class Lanes {
  /** @param owner name of this process, unique to its start; see `ownerName`. */
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly kind: DatabaseHandle['kind'],
    private readonly clock: Clock,
    readonly owner: string,
  ) {}

  /**
   * Claims due lanes that have no owner or an expired lease. Lanes that have waited longest come first. @returns their
   * endpoint IDs.
   */
  claim(most: number): Promise<string[]> {
    return this.claimWhere(sql`due_at <= ${this.clock.now()}`, most);
  }

  /**
   * Claims the lanes of these endpoints that have no owner, even if they are not due. After a notification, the due
   * time may be outdated. @returns the endpoint IDs of the claimed lanes.
   */
  async claimThese(endpointIds: readonly string[]): Promise<string[]> {
    if (endpointIds.length === 0) return [];
    return this.claimWhere(sql`endpoint_id in ${textList(this.kind, endpointIds)}`, endpointIds.length);
  }

  /** Renews leases. @returns the endpoints that this process still owns. Others were claimed elsewhere, or deleted. */
  async renew(endpointIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (endpointIds.length === 0) return new Set();
    const { rows } = await sql<{ endpoint_id: string }>`
      update webhook_lane set owned_until = ${this.now()} + ${sql.lit(LEASE_MS)}
      where endpoint_id in ${inOrder(this.db, this.ownLanes(endpointIds))} returning endpoint_id
    `.execute(this.db);
    return new Set(rows.map((row) => row.endpoint_id));
  }

  /**
   * Releases idle lanes, and sets their due time to that of the next delivery. Check the lanes again a little later
   * with `LaneScan.findLate`, because this statement does not see deliveries that are just being committed.
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
      where endpoint_id in ${inOrder(this.db, this.ownLanes(endpointIds))} returning endpoint_id, due_at
    `.execute(this.db);
    return rows.map(({ endpoint_id: endpointId, due_at: dueAtMs }) => ({ endpointId, dueAtMs }));
  }

  /**
   * Releases all lanes of this process. Keeps the due times, so that other processes can claim the lanes immediately.
   * @param except IDs of endpoints whose lanes stay claimed.
   */
  async release(except: readonly string[] = []): Promise<void> {
    const others = except.length === 0 ? sql`` : sql` and endpoint_id not in ${textList(this.kind, except)}`;
    const own = inOrder(this.db, sql`owner = ${this.owner}${others}`);
    const { db } = this;
    await sql`update webhook_lane set owner = null, owned_until = 0 where endpoint_id in ${own}`.execute(db);
  }

  /** Ends the leases of all other owners. Call this only if no other process can be running. */
  async endOtherLeases(): Promise<void> {
    const { db } = this;
    await sql`
      update webhook_lane set owner = null, owned_until = 0 where owner is not null and owner <> ${this.owner}
    `.execute(db);
  }

  /**
   * Ends the leases of dead owners, so that deliveries need not wait until the leases of a killed process expire.
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

  /** Returns the due time of the lane without an owner that has waited longest, or undefined if there is none. */
  async findOldestUnowned(): Promise<number | undefined> {
    const { rows } = await sql<{ due_at: number }>`
      select due_at from webhook_lane where due_at <= ${this.clock.now()} and owned_until <= ${this.now()}
      order by due_at limit 1
    `.execute(this.db);
    return rows[0]?.due_at;
  }

  private async claimWhere(endpointCondition: RawBuilder<unknown>, most: number): Promise<string[]> {
    const lock = this.kind === 'postgres' ? sql`for update skip locked` : sql``;
    // A clock that was ahead wrote any lease that ends later than a new one would.
    const free = sql`(owned_until <= ${this.now()} or owned_until > ${this.now()} + ${sql.lit(LEASE_MS)})`;
    const { rows } = await sql<{ endpoint_id: string }>`
      with taken as materialized (
        select endpoint_id from webhook_lane where ${endpointCondition} and ${free} order by due_at limit ${most} ${lock})
      update webhook_lane set owner = ${this.owner}, owned_until = ${this.now()} + ${sql.lit(LEASE_MS)}
      where endpoint_id in (select endpoint_id from taken) returning endpoint_id
    `.execute(this.db);
    return rows.map((row) => row.endpoint_id);
  }

  /** Returns a condition for the lanes of these endpoints that this process owns. */
  private ownLanes(endpointIds: readonly string[]): RawBuilder<unknown> {
    return sql`endpoint_id in ${textList(this.kind, endpointIds)} and owner = ${this.owner}`;
  }

  /** Returns the current time of the clock for leases. */
  private now(): RawBuilder<number> {
    return this.kind === 'postgres'
      ? sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
      : sql<number>`${this.clock.now()}`;
  }
}

/** The settings of a webhook endpoint that attempts need. */
export interface LaneEndpoint {
  readonly id: string;
  readonly accountId: string;
  readonly url: string;
  /** Whether attempts may be made: enabled and not deleted. */
  readonly isEnabled: boolean;
  readonly isOrdered: boolean;
  /** Pauses before the second and later attempts, in milliseconds. */
  readonly scheduleMs: readonly number[];
  /** Null for the default, like `concurrency` and `timeoutMs`. */
  readonly ratePerSecond: number | null;
  readonly concurrency: number | null;
  readonly timeoutMs: number | null;
  /** Whether the latest recorded attempt succeeded. */
  readonly latestSucceeded: boolean;
  /** Each change of the endpoint's settings or secrets increments the version. */
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

/** Reads endpoints by ID. The result does not contain endpoints that do not exist. */
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
    latestSucceeded: row.last_success_at !== null && row.failing_since === null,
    version: row.version,
  }));
}

function inMs(schedule: string): readonly number[] {
  return (JSON.parse(schedule) as number[]).map((seconds) => seconds * MS_PER_SECOND);
}
