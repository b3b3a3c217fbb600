/**
 * Leases of lanes decide which endpoints this process delivers to. It claims lanes without an owner, renews them, and
 * releases idle ones. A lease that is not renewed expires, and another process takes the lane.
 *
 * Claims and releases never overlap. Otherwise a lane could be in memory here without an owner in the table.
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

/** Maximum number of lanes per process. */
const MOST_LANES = 10_000;
/** Lanes per claim. */
const LANES_PER_CLAIM = 64;
const LANES_PER_STATEMENT = 500;
/** With more lanes, idle ones are released sooner to make room for others. */
const CROWDED_LANES = 5_000;
const CROWDED_LINGER_MS = 2_000;

/** HeldLanes holds a lane from its claim to its release. */
export class HeldLanes {
  private readonly lanes = new Map<string, Lane>();

  constructor(private readonly keys: EndpointKeys) {}

  get size(): number {
    return this.lanes.size;
  }

  ids(): string[] {
    return [...this.lanes.keys()];
  }

  all(): Iterable<Lane> {
    return this.lanes.values();
  }

  /** Returns the endpoint IDs of matching lanes. */
  idsOf(matches: (lane: Lane) => boolean): string[] {
    return [...this.lanes.values()].filter(matches).map(({ endpointId }) => endpointId);
  }

  get(endpointId: string): Lane | undefined {
    return this.lanes.get(endpointId);
  }

  /** Adds the lane of an endpoint. A lane that is already held is taken again, with its attempts in progress. */
  add(endpoint: LaneEndpoint): Lane {
    const held = this.lanes.get(endpoint.id);
    if (held !== undefined) {
      held.retake(endpoint);
      return held;
    }
    const lane = new Lane(endpoint, this.keys.takeKept(endpoint.id, endpoint.version));
    this.lanes.set(endpoint.id, lane);
    return lane;
  }

  /** Drops an idle lane, and caches its keys. */
  dropIdle(endpointId: string): void {
    const opened = this.lanes.get(endpointId)?.openedKeys;
    if (opened !== undefined) this.keys.keep(endpointId, opened);
    this.drop(endpointId);
  }

  /** Drops a lane. It starts no more attempts. */
  drop(endpointId: string): void {
    this.lanes.get(endpointId)?.drop();
    this.lanes.delete(endpointId);
  }

  dropAll(): void {
    for (const id of this.ids()) this.drop(id);
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

/** LaneLeases manages the leases of a process. All methods reject as the database does. */
export class LaneLeases {
  /** Whether the process is shutting down. It then claims no lanes and starts no attempts. */
  isEnding = false;
  private readonly refreshes: Batcher<string, void>;
  /** Pending refreshes by endpoint, so that a burst of notifications reads each endpoint once. */
  private readonly waitingRefreshes = new Map<string, Promise<void>>();
  /** Lanes that are not held here but may still be this process's in the table. They are not renewed. */
  private readonly unreleased = new Set<string>();
  private changingHands: Promise<unknown> = Promise.resolve();
  /** Start of the last renewal, by `performance.now()`. The leases are valid from then on. */
  private renewedMs = -Infinity;
  private hasReleasedAll = false;

  constructor(private readonly parts: LaneLeasesParts) {
    this.refreshes = new Batcher((ids) => this.readAgain(ids), { most: LANES_PER_STATEMENT });
  }

  /** Whether attempts may start: the leases were renewed recently and the process is not shutting down. */
  get areValid(): boolean {
    return !this.isEnding && this.areRenewed;
  }

  /** Number of lanes that `claimThese` can claim now. */
  get room(): number {
    return this.isEnding ? 0 : Math.min(LANES_PER_CLAIM, MOST_LANES - this.parts.lanes.size);
  }

  /** Claims the lanes of these endpoints that have no owner. */
  async claimThese(endpointIds: readonly string[]): Promise<readonly Lane[]> {
    return this.alone(async () => {
      const startMs = performance.now();
      return this.add(await this.parts.rows.claimThese(endpointIds), startMs);
    });
  }

  /** Claims all due lanes without an owner, longest waiting first. */
  async *claimDue(): AsyncGenerator<readonly Lane[]> {
    for (let isMore = true; isMore && this.room > 0;) {
      yield await this.alone(async () => {
        const startMs = performance.now();
        const claimed = await this.parts.rows.claim(this.room);
        if (claimed.length > 0) METRICS.webhookClaimDuration.series().observe((performance.now() - startMs) / 1_000);
        isMore = claimed.length === LANES_PER_CLAIM;
        return this.add(claimed, startMs);
      });
    }
  }

  /** Reloads the endpoints of held lanes. Lanes of deleted endpoints are dropped. */
  async refresh(endpointIds: readonly string[]): Promise<void> {
    await Promise.all(endpointIds.map((id) => this.refreshOne(id)));
  }

  private refreshOne(id: string): Promise<void> {
    let waiting = this.waitingRefreshes.get(id);
    if (waiting === undefined) this.waitingRefreshes.set(id, (waiting = this.refreshes.add(id)));
    return waiting;
  }

  /** Renews all leases. Drops lanes that another process now owns. */
  async renew(): Promise<void> {
    const { rows, lanes } = this.parts;
    const held = [...lanes.all()];
    const startMs = performance.now();
    try {
      const own = await rows.renew(held.map(({ endpointId }) => endpointId));
      this.renewedMs = startMs;
      for (const lane of held) {
        // A lane that was claimed again meanwhile belongs to this process.
        const isLost = !own.has(lane.endpointId) && lane.takenMs < startMs;
        if (isLost && lanes.get(lane.endpointId) === lane) lanes.drop(lane.endpointId);
      }
    } finally {
      if (lanes.size > 0 && !this.areRenewed) this.dropExpired();
    }
  }

  /**
   * Releases idle lanes, limited to one statement. Returns them with their next due times. Lanes that could not be
   * released are retried next time.
   */
  releaseIdle(): Promise<readonly SleepingLane[]> {
    return this.alone(async () => {
      const ids = this.isEnding ? [] : this.idleIds();
      for (const id of ids) {
        this.unreleased.add(id);
        this.parts.lanes.dropIdle(id);
      }
      const released = await this.parts.rows.releaseIdle(ids);
      for (const id of ids) this.unreleased.delete(id);
      return released;
    });
  }

  /** Releases all lanes without attempts in progress, during shutdown. Call it again for the others. */
  releaseAll(): Promise<void> {
    const { rows, lanes } = this.parts;
    return this.alone(async () => {
      const idle = lanes.idsOf(({ isBusy }) => !isBusy);
      if (idle.length === 0 && this.hasReleasedAll) return;
      this.hasReleasedAll = false;
      for (const id of idle) lanes.drop(id);
      await rows.release(lanes.ids());
      this.hasReleasedAll = true;
    });
  }

  private get areRenewed(): boolean {
    return performance.now() - this.renewedMs < this.parts.times.leasePatienceMs;
  }

  private alone<Result>(run: () => Promise<Result>): Promise<Result> {
    const done = this.changingHands.then(run);
    this.changingHands = done.catch(() => undefined);
    return done;
  }

  /** Adds claimed lanes. @param atMs start of the claim, by `performance.now()`. */
  private async add(endpointIds: readonly string[], atMs: number): Promise<readonly Lane[]> {
    if (endpointIds.length === 0) return [];
    const { db, lanes } = this.parts;
    // Marked until they are held. A lane that is already held stays held.
    for (const id of endpointIds) if (lanes.get(id) === undefined) this.unreleased.add(id);
    this.hasReleasedAll = false;
    const endpoints = await readLaneEndpoints(db, endpointIds);
    // The new leases are as valid as leases renewed at that time.
    if (lanes.size === 0) this.renewedMs = atMs;
    return endpoints.map((endpoint) => {
      this.unreleased.delete(endpoint.id);
      return lanes.add(endpoint);
    });
  }

  private async readAgain(ids: readonly string[]): Promise<readonly void[]> {
    const { db, lanes } = this.parts;
    // A later change needs another read.
    for (const id of ids) this.waitingRefreshes.delete(id);
    const endpoints = new Map((await readLaneEndpoints(db, ids)).map((each) => [each.id, each]));
    for (const id of ids) {
      const endpoint = endpoints.get(id);
      if (endpoint === undefined) lanes.drop(id);
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

  private idleIds(): string[] {
    const { lanes, times } = this.parts;
    const isCrowded = lanes.size > CROWDED_LANES;
    const lingerMs = isCrowded ? CROWDED_LINGER_MS : times.lingerMs;
    const mayRest = (lane: Lane): boolean => lane.isIdleFor(lingerMs) && (isCrowded || !lane.isPaused);
    return [...this.unreleased, ...lanes.idsOf(mayRest)].slice(0, LANES_PER_STATEMENT);
  }
}
