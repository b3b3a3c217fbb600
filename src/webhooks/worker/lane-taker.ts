/**
 * Finds what there is to do: takes lanes that are nobody's, those that it was told of at once, and every second all
 * that are due. Not more often, because the lanes that are at work are due as well, and each time all of them are read.
 * As often it looks at own lanes that have nothing to do: a word that was lost on the way would leave them so.
 */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { readLaneEndpoints, type LaneEndpoint } from '../deliveries/lane-endpoints.js';
import type { Lanes } from '../deliveries/lanes.js';
import { METRICS } from '../../platform/metrics.js';
import type { WorkerTimes } from './worker-times.js';

/** Lanes that are taken by one statement. */
const LANES_A_CLAIM = 64;
/** Own lanes that one statement looks at. */
const LANES_A_LOOK = 500;
/** Endpoints that it remembers to have been told of: of others their lanes say that they are due. */
const MOST_TOLD = 10_000;

/** What it takes them with. */
export interface LaneTakerParts {
  readonly db: Kysely<Tables>;
  readonly lanes: Lanes;
  readonly times: WorkerTimes;
  /** Whether it is told what other processes write. */
  readonly isTold: () => boolean;
  /** Lanes that there is room for now. */
  readonly room: () => number;
  /** Own lanes that could do more, and know of nothing. */
  readonly idle: () => readonly string[];
  /** Those of them of which deliveries are due. */
  readonly dueOf: (endpointIds: readonly string[]) => Promise<readonly string[]>;
  /** Own lanes that have something to do after all. */
  readonly wake: (endpointIds: readonly string[]) => void;
  /** Gets the endpoints of lanes that were taken, and since when they are (`performance.now()`). */
  readonly add: (endpoints: readonly LaneEndpoint[], atMs: number) => void;
  /** Lanes were taken, and their endpoints could not be read. */
  readonly untaken: (endpointIds: readonly string[]) => void;
}

/** LaneTaker remembers whom it was told of. */
export class LaneTaker {
  private readonly told = new Set<string>();
  private allMs = -Infinity;

  constructor(private readonly parts: LaneTakerParts) {}

  /** An endpoint has something to do: the next `take` takes its lane. */
  tell(endpointId: string): void {
    if (this.told.size < MOST_TOLD) this.told.add(endpointId);
  }

  /** Any may have something to do: the next `take` looks for all. */
  tellAll(): void {
    this.allMs = -Infinity;
  }

  /** Whether it was told of lanes that it has not taken. */
  get hasTold(): boolean {
    return this.told.size > 0;
  }

  /** How long until it is to look for all. */
  get msUntilAll(): number {
    const { isTold, times } = this.parts;
    const intervalMs = isTold() ? times.lookMs : times.deafLookMs;
    return Math.max(0, this.allMs + intervalMs - performance.now());
  }

  /** Takes those that it was told of, up to a statement's worth; and all that are due, where it is time for that. */
  async take(): Promise<void> {
    const most = Math.min(LANES_A_CLAIM, this.parts.room());
    if (most <= 0) this.told.clear();
    const told = [...this.told].slice(0, most);
    for (const id of told) this.told.delete(id);
    const startMs = performance.now();
    await this.add(await this.parts.lanes.claimThese(told), startMs);
    if (this.msUntilAll === 0) await this.takeAll();
  }

  private async takeAll(): Promise<void> {
    this.allMs = performance.now();
    let claimed: string[];
    do {
      const startMs = performance.now();
      const most = Math.min(LANES_A_CLAIM, this.parts.room());
      claimed = most <= 0 ? [] : await this.parts.lanes.claim(most);
      if (claimed.length > 0) METRICS.webhookClaimDuration.series().observe((performance.now() - startMs) / 1_000);
      await this.add(claimed, startMs);
    } while (claimed.length === LANES_A_CLAIM);
    await this.lookAtIdle();
  }

  private async lookAtIdle(): Promise<void> {
    const idle = this.parts.idle();
    for (let at = 0; at < idle.length; at += LANES_A_LOOK) {
      this.parts.wake(await this.parts.dueOf(idle.slice(at, at + LANES_A_LOOK)));
    }
  }

  private async add(endpointIds: readonly string[], atMs: number): Promise<void> {
    if (endpointIds.length === 0) return;
    try {
      this.parts.add(await readLaneEndpoints(this.parts.db, endpointIds), atMs);
    } catch (error) {
      this.parts.untaken(endpointIds);
      throw error;
    }
  }
}
