/**
 * Lets go of lanes: of those that have nothing to do, and, when the process ends, of all that have nothing under way.
 * What could not be written down is written the next time: until then nobody renews the lease of such a lane, and
 * nobody else can take it.
 */
import type { LaneScan } from '../deliveries/lane-scan.js';
import type { Lanes, SleepingLane } from '../deliveries/lanes.js';
import type { Lane } from './lane.js';
import type { LanesHeld } from './lanes-held.js';
import type { WorkerTimes } from './worker-times.js';

const LANES_A_STATEMENT = 500;
/** With so many lanes there may be no room for others: those without work make some, sooner. */
const CROWDED_LANES = 5_000;
const CROWDED_LINGER_MS = 2_000;

/** What lanes are let go of with. */
export interface LaneSleepParts {
  readonly lanes: Pick<Lanes, 'sleep' | 'release'>;
  readonly scan: Pick<LaneScan, 'look'>;
  readonly times: WorkerTimes;
  readonly msUntil: (dueAtMs: number) => number;
  /** These have something to do after all. */
  readonly wake: (endpointIds: readonly string[]) => void;
}

/** LaneSleep remembers which lanes are in nobody's hands and still this process's. */
export class LaneSleep {
  private readonly unslept = new Set<string>();
  private isLeaving = false;
  private hasLeft = false;

  constructor(
    private readonly held: LanesHeld,
    private readonly parts: LaneSleepParts,
  ) {}

  /** A lane is in the hands of this process. */
  taken(endpointId: string): void {
    this.unslept.delete(endpointId);
  }

  /** Lanes were taken, and could not be taken in hand. */
  untaken(endpointIds: readonly string[]): void {
    for (const id of endpointIds) if (this.held.get(id) === undefined) this.unslept.add(id);
    this.hasLeft = false;
  }

  /** Lets go of what has nothing to do. Rejects as the database does; the rest is done the next time. */
  async sleep(): Promise<void> {
    for (let some = this.next(); some.length > 0; some = this.next()) {
      for (const id of some) {
        this.unslept.add(id);
        this.held.rest(id);
      }
      const asleep = await this.parts.lanes.sleep(some);
      for (const id of some) this.unslept.delete(id);
      if (this.isLeaving) return;
      this.lookAt(some, asleep);
    }
  }

  /**
   * The process ends: lets go of all that has nothing under way, as it is. Call it again for what had. Rejects as
   * `sleep`.
   */
  async leave(): Promise<void> {
    this.isLeaving = true;
    const idle = this.held.idsOf(({ isBusy }) => !isBusy);
    if (idle.length === 0 && this.hasLeft) return;
    this.hasLeft = false;
    for (const id of idle) this.held.drop(id);
    await this.parts.lanes.release(this.held.ids());
    this.hasLeft = true;
  }

  private next(): string[] {
    if (this.isLeaving) return [];
    const isCrowded = this.held.size > CROWDED_LANES;
    const lingerMs = isCrowded ? CROWDED_LINGER_MS : this.parts.times.lingerMs;
    const mayRest = (lane: Lane): boolean => lane.isIdleFor(lingerMs) && (isCrowded || !lane.isPaused);
    return [...this.unslept, ...this.held.idsOf(mayRest)].slice(0, LANES_A_STATEMENT);
  }

  /** What came while they fell asleep, and found them taken. */
  private lookAt(some: readonly string[], asleep: readonly SleepingLane[]): void {
    const due = asleep.filter(({ dueAtMs }) => this.parts.msUntil(dueAtMs) === 0);
    this.parts.wake(due.map(({ endpointId }) => endpointId));
    setTimeout(() => void this.lookAgain(some), this.parts.times.secondLookMs).unref();
  }

  private async lookAgain(endpointIds: readonly string[]): Promise<void> {
    if (this.isLeaving) return;
    // Where it fails, the scan does it.
    const found = await this.parts.scan.look(endpointIds).catch(() => []);
    if (found.length > 0) this.parts.wake(found);
  }
}
