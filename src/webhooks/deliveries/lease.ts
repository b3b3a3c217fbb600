/**
 * Manages the leases of lanes, which decide to which endpoints this process delivers. The process claims lanes without
 * an owner, renews their leases, and releases idle lanes. A lease that is not renewed expires, and another process can
 * claim the lane.
 *
 * Claims and releases never overlap. Otherwise this process could hold a lane in memory without owning it in the table.
 */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { Batcher } from '../../platform/batcher.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import type { EndpointKeys } from './endpoint-keys.js';
import { Lane } from './lane.js';
import { readLaneEndpoints, type LaneEndpoint, type Lanes, type SleepingLane } from './rows/lanes.js';
import type { WorkerTimes } from './worker-times.js';

/** Maximum number of lanes that a process holds. */
const MAX_LANES = 10_000;
/** Maximum number of lanes per claim. */
const LANES_PER_CLAIM = 64;
const LANES_PER_STATEMENT = 500;
/** If a process holds more lanes than this, it releases idle lanes sooner, after `CROWDED_LINGER_MS`. */
const CROWDED_LANES = 5_000;
const CROWDED_LINGER_MS = 2_000;

/** HeldLanes contains the lanes of this process, from their claim to their release. */
export class HeldLanes {
  private readonly lanes = new Map<string, Lane>();

  constructor(private readonly keys: EndpointKeys) {}

  get size(): number {
    return this.lanes.size;
  }

  endpointIds(): string[] {
    return [...this.lanes.keys()];
  }

  lanesHeld(): Iterable<Lane> {
    return this.lanes.values();
  }

  /** Returns the endpoint IDs of matching lanes. */
  idsOf(matches: (lane: Lane) => boolean): string[] {
    return [...this.lanes.values()].filter(matches).map(({ endpointId }) => endpointId);
  }

  get(endpointId: string): Lane | undefined {
    return this.lanes.get(endpointId);
  }

  /** Adds the lane of an endpoint. If this process already holds the lane, keeps its attempts in progress. */
  addLane(endpoint: LaneEndpoint): Lane {
    const held = this.lanes.get(endpoint.id);
    if (held !== undefined) {
      held.reclaim(endpoint);
      return held;
    }
    const lane = new Lane(endpoint, this.keys.removeCachedKeys(endpoint.id, endpoint.version));
    this.lanes.set(endpoint.id, lane);
    return lane;
  }

  /** Drops an idle lane, and caches its signing keys. */
  dropIdle(endpointId: string): void {
    const opened = this.lanes.get(endpointId)?.openedKeys;
    if (opened !== undefined) this.keys.cacheKeys(endpointId, opened);
    this.dropLane(endpointId);
  }

  /** Drops a lane, which then starts no more attempts. */
  dropLane(endpointId: string): void {
    this.lanes.get(endpointId)?.drop();
    this.lanes.delete(endpointId);
  }

  dropAll(): void {
    for (const id of this.endpointIds()) this.dropLane(id);
  }
}

/** Dependencies of `LaneLeases`. */
export interface LaneLeasesParts {
  readonly db: Kysely<Tables>;
  readonly rows: Lanes;
  readonly lanes: HeldLanes;
  readonly log: Logger;
  readonly times: WorkerTimes;
}

/** LaneLeases manages the leases of this process. All methods reject if the database fails. */
export class LaneLeases {
  /** Whether the process is shutting down. If so, the process claims no more lanes and starts no more attempts. */
  isEnding = false;
  private readonly refreshes: Batcher<string, void>;
  /** Pending refreshes by endpoint ID, so that many notifications at once read each endpoint only once. */
  private readonly waitingRefreshes = new Map<string, Promise<void>>();
  /**
   * Endpoint IDs of lanes that this process does not hold in memory, but may own in the table. Their leases are not
   * renewed, and the next release includes them.
   */
  private readonly unreleased = new Set<string>();
  /** The latest claim or release. The next claim or release waits for its end. */
  private lastChange: Promise<unknown> = Promise.resolve();
  /**
   * Start of the latest successful renewal, by `performance.now()`. The validity of all leases counts from this time.
   */
  private renewedMs = -Infinity;
  /** Whether the table has no more lanes of this process, except those with attempts in progress. */
  private hasReleasedAll = false;

  constructor(private readonly parts: LaneLeasesParts) {
    this.refreshes = new Batcher((ids) => this.rereadLanes(ids), { most: LANES_PER_STATEMENT });
  }

  /** Whether attempts may start. True if the leases were renewed recently and the process is not shutting down. */
  get areValid(): boolean {
    return !this.isEnding && this.areRenewed;
  }

  /** Number of lanes that this process can claim now with one statement. */
  get freeLanes(): number {
    return this.isEnding ? 0 : Math.min(LANES_PER_CLAIM, MAX_LANES - this.parts.lanes.size);
  }

  /** Claims the lanes of these endpoints, if they have no owner. Returns the claimed lanes. */
  async claimThese(endpointIds: readonly string[]): Promise<readonly Lane[]> {
    return this.runExclusively(async () => {
      const startMs = performance.now();
      return this.add(await this.parts.rows.claimThese(endpointIds), startMs);
    });
  }

  /** Claims due lanes without an owner while this process can hold more. Lanes that have waited longest come first. */
  async *claimDue(): AsyncGenerator<readonly Lane[]> {
    for (let hasMore = true; hasMore && this.freeLanes > 0;) {
      yield await this.runExclusively(async () => {
        const startMs = performance.now();
        const claimed = await this.parts.rows.claim(this.freeLanes);
        if (claimed.length > 0) METRICS.webhookClaimDuration.series().observe((performance.now() - startMs) / 1_000);
        hasMore = claimed.length === LANES_PER_CLAIM;
        return this.add(claimed, startMs);
      });
    }
  }

  /** Reloads the endpoints of held lanes. Drops lanes whose endpoint no longer exists in the database. */
  async refresh(endpointIds: readonly string[]): Promise<void> {
    await Promise.all(endpointIds.map((id) => this.refreshOne(id)));
  }

  private refreshOne(id: string): Promise<void> {
    let waiting = this.waitingRefreshes.get(id);
    if (waiting === undefined) this.waitingRefreshes.set(id, (waiting = this.refreshes.add(id)));
    return waiting;
  }

  /**
   * Renews all leases. Drops lanes that another process now owns. Drops all lanes if no renewal has succeeded for
   * `leasePatienceMs`.
   */
  async renewLeases(): Promise<void> {
    const { rows, lanes } = this.parts;
    const held = [...lanes.lanesHeld()];
    const startMs = performance.now();
    try {
      const own = await rows.renew(held.map(({ endpointId }) => endpointId));
      this.renewedMs = startMs;
      for (const lane of held) {
        // A lane that was claimed again during the renewal belongs to this process.
        const isLost = !own.has(lane.endpointId) && lane.takenMs < startMs;
        if (isLost && lanes.get(lane.endpointId) === lane) lanes.dropLane(lane.endpointId);
      }
    } finally {
      if (lanes.size > 0 && !this.areRenewed) this.dropExpired();
    }
  }

  /**
   * Releases idle lanes, as many as fit into one statement. Returns the released lanes with their next due times. If
   * the statement fails, the next call includes its lanes.
   */
  releaseIdle(): Promise<readonly SleepingLane[]> {
    return this.runExclusively(async () => {
      const ids = this.isEnding ? [] : this.idsToRelease();
      for (const id of ids) {
        this.unreleased.add(id);
        this.parts.lanes.dropIdle(id);
      }
      const released = await this.parts.rows.releaseIdle(ids);
      for (const id of ids) this.unreleased.delete(id);
      return released;
    });
  }

  /** Releases all lanes without attempts in progress, for shutdown. Repeat the call to release the others. */
  releaseAll(): Promise<void> {
    const { rows, lanes } = this.parts;
    return this.runExclusively(async () => {
      const idle = lanes.idsOf(({ isBusy }) => !isBusy);
      if (idle.length === 0 && this.hasReleasedAll) return;
      this.hasReleasedAll = false;
      for (const id of idle) lanes.dropLane(id);
      await rows.release(lanes.endpointIds());
      this.hasReleasedAll = true;
    });
  }

  private get areRenewed(): boolean {
    return performance.now() - this.renewedMs < this.parts.times.leasePatienceMs;
  }

  /** Runs a claim or release after all earlier ones have ended. */
  private runExclusively<Result>(run: () => Promise<Result>): Promise<Result> {
    const done = this.lastChange.then(run);
    this.lastChange = done.catch(() => undefined);
    return done;
  }

  /** Adds claimed lanes. @param atMs start of the claim, by `performance.now()`. */
  private async add(endpointIds: readonly string[], atMs: number): Promise<readonly Lane[]> {
    if (endpointIds.length === 0) return [];
    const { db, lanes } = this.parts;
    // Until the lanes are in memory, mark them for release in case reading the endpoints fails.
    for (const id of endpointIds) if (lanes.get(id) === undefined) this.unreleased.add(id);
    this.hasReleasedAll = false;
    const endpoints = await readLaneEndpoints(db, endpointIds);
    // A new lease is valid for as long as a lease that was renewed at the start of the claim.
    if (lanes.size === 0) this.renewedMs = atMs;
    return endpoints.map((endpoint) => {
      this.unreleased.delete(endpoint.id);
      return lanes.addLane(endpoint);
    });
  }

  /** Reads the endpoints of a batch of refreshes, and updates their lanes. */
  private async rereadLanes(ids: readonly string[]): Promise<readonly void[]> {
    const { db, lanes } = this.parts;
    // Changes from now on need another read.
    for (const id of ids) this.waitingRefreshes.delete(id);
    const endpoints = new Map((await readLaneEndpoints(db, ids)).map((each) => [each.id, each]));
    for (const id of ids) {
      const endpoint = endpoints.get(id);
      if (endpoint === undefined) lanes.dropLane(id);
      else lanes.get(id)?.replaceEndpoint(endpoint);
    }
    return ids.map(() => undefined);
  }

  /** Drops all lanes, because their leases may have expired and other processes may deliver. */
  private dropExpired(): void {
    const { log, lanes } = this.parts;
    const text = 'Leases of webhook endpoints could not be renewed; other workers take over';
    log.warn({ event: 'webhook_lanes_lost', lanes: lanes.size }, text);
    lanes.dropAll();
  }

  /** Returns the endpoint IDs of lanes to release. */
  private idsToRelease(): string[] {
    const { lanes, times } = this.parts;
    const isCrowded = lanes.size > CROWDED_LANES;
    const lingerMs = isCrowded ? CROWDED_LINGER_MS : times.lingerMs;
    const mayRelease = (lane: Lane): boolean => lane.isIdleFor(lingerMs) && (isCrowded || !lane.isPaused);
    return [...this.unreleased, ...lanes.idsOf(mayRelease)].slice(0, LANES_PER_STATEMENT);
  }
}
