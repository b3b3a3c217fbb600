/**
 * Who works on which webhook endpoint: a lane has one owner at a time, by a lease that it renews. So order,
 * concurrency, rate and the like of an endpoint are exact in the memory of one process. An owner that dies leaves its
 * lanes to others when the lease is over; until then it may be attempting what is written nowhere yet: at least once.
 *
 * Leases go by the database's clock where several processes may hold them, so that one whose clock runs ahead takes
 * nothing from the others.
 */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Clock } from '../../../platform/clock.js';
import type { DatabaseHandle } from '../../../stores/database/connect.js';
import { textList } from '../../../stores/database/json-rows.js';
import type { Tables } from '../../../stores/database/schema.js';
import { ASLEEP, inOrder } from '../../../outbox/lane-rows.js';

/** How long a lane stays its owner's without a renewal: longer than an attempt may take. */
export const LEASE_MS = 30_000;

/** A lane that was put to sleep. */
export interface SleepingLane {
  readonly endpointId: string;
  /** When it is due again; `ASLEEP` where nothing waits, or the endpoint is not enabled. */
  readonly dueAtMs: number;
}

/** Lanes are claimed, kept and let go of by one process. */
export class Lanes {
  /** @param owner of this start of the process, of no other. */
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly kind: DatabaseHandle['kind'],
    private readonly clock: Clock,
    readonly owner: string,
  ) {}

  /** Takes lanes that are due and nobody's, those first that have waited longest. */
  claim(most: number): Promise<string[]> {
    return this.take(sql`due_at <= ${this.clock.now()}`, most);
  }

  /**
   * Takes these lanes where they are nobody's, due or not: what was told behind a commit is looked at whatever the lane
   * says.
   */
  async claimThese(endpointIds: readonly string[]): Promise<string[]> {
    if (endpointIds.length === 0) return [];
    return this.take(sql`endpoint_id in ${textList(this.kind, endpointIds)}`, endpointIds.length);
  }

  /** Renews leases. @returns those that are still this process's; the others are somebody else's, or gone. */
  async renew(endpointIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (endpointIds.length === 0) return new Set();
    const { rows } = await sql<{ endpoint_id: string }>`
      update webhook_lane set owned_until = ${this.now()} + ${sql.lit(LEASE_MS)}
      where endpoint_id in ${inOrder(this.db, this.own(endpointIds))} returning endpoint_id
    `.execute(this.db);
    return new Set(rows.map((row) => row.endpoint_id));
  }

  /**
   * Lets go of lanes that have nothing to do now; each is due again when its next delivery is. Look once more at them a
   * little later (`LaneScan.look`): what was being committed meanwhile was not seen.
   */
  async sleep(endpointIds: readonly string[]): Promise<SleepingLane[]> {
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

  /** Lets go of all but these, as they are: another process may take them at once. */
  async release(except: readonly string[] = []): Promise<void> {
    const others = except.length === 0 ? sql`` : sql` and endpoint_id not in ${textList(this.kind, except)}`;
    const own = inOrder(this.db, sql`owner = ${this.owner}${others}`);
    const { db } = this;
    await sql`update webhook_lane set owner = null, owned_until = 0 where endpoint_id in ${own}`.execute(db);
  }

  /** Takes the leases from those who had them before. Only where no other process can be at work. */
  async endOthers(): Promise<void> {
    const { db } = this;
    await sql`
      update webhook_lane set owner = null, owned_until = 0 where owner is not null and owner <> ${this.owner}
    `.execute(db);
  }

  /**
   * Takes the leases of those who had them before and are dead: what a process that was killed had in hand waits for no
   * lease.
   * @param isDead asked of each owner; true only where it is certain.
   */
  async endDead(isDead: (owner: string) => boolean): Promise<void> {
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

  /** Since when the lane is due that has been for longest and is nobody's. Undefined where there is none. */
  async oldestUnowned(): Promise<number | undefined> {
    const { rows } = await sql<{ due_at: number }>`
      select due_at from webhook_lane where due_at <= ${this.clock.now()} and owned_until <= ${this.now()}
      order by due_at limit 1
    `.execute(this.db);
    return rows[0]?.due_at;
  }

  private async take(which: RawBuilder<unknown>, most: number): Promise<string[]> {
    const lock = this.kind === 'postgres' ? sql`for update skip locked` : sql``;
    // A lease that ends later than any that is given now was given by a clock that ran ahead.
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

  /** Now, by the clock of leases. */
  private now(): RawBuilder<number> {
    return this.kind === 'postgres'
      ? sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
      : sql<number>`${this.clock.now()}`;
  }
}
