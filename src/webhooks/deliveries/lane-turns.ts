/**
 * Schedules lanes round-robin: each lane with work starts one attempt, then the next lane, while slots are free. So an
 * endpoint with a thousand deliveries delays no other. A lane that found no slot goes before all later lanes, even if
 * theirs would fit. Otherwise a large body might wait forever.
 */
import type { AttemptSlot, AttemptSlots } from './attempt-slots.js';
import type { Lane } from './lane.js';

/** Result of a turn: an attempt started and there may be more, no slot was free, or there was nothing to start. */
export type Turn = 'began' | 'no_slot' | 'nothing';

/** Handles the turns of lanes. */
export interface TakesTurns {
  /** Starts the next attempt of a lane, if any. Must not block. */
  takeTurn(lane: Lane): Turn;
}

/** LaneTurns decides which lane starts the next attempt. */
export class LaneTurns {
  /** Lanes that may have work, in order of their turns. */
  private readonly ready = new Set<Lane>();
  /** Lanes that found no slot. The next free slot is theirs. */
  private readonly starved = { quick: new Set<Lane>(), slow: new Set<Lane>() };
  private isScheduled = false;
  private isMakingRoom = false;
  /** Whether the starved lanes are having their turns. */
  private isForStarved = false;

  /**
   * Creates the scheduler. @param makeRoomMs interval at which long attempts move to the slow slots, while quick lanes
   * starve.
   */
  constructor(
    private readonly slots: AttemptSlots,
    private readonly delivery: TakesTurns,
    private readonly makeRoomMs: number,
  ) {}

  /** Gives a lane a turn in the next turn of the event loop. */
  queueTurn(lane: Lane): void {
    this.ready.add(lane);
    this.scheduleTurns();
  }

  /** Gives a lane a turn after a pause, unless it already has an earlier one. */
  queueTurnIn(lane: Lane, waitMs: number): Turn {
    const atMs = performance.now() + waitMs;
    if (lane.turnTimer !== undefined && atMs >= lane.turnAtMs) return 'nothing';
    clearTimeout(lane.turnTimer);
    lane.turnAtMs = atMs;
    lane.turnTimer = setTimeout(() => {
      lane.turnTimer = undefined;
      this.queueTurn(lane);
    }, Math.ceil(waitMs));
    lane.turnTimer.unref();
    return 'nothing';
  }

  /**
   * Takes a slot for a lane's next attempt. Returns undefined if none is free, or starved lanes of its kind go first.
   */
  takeSlot({ pace: { isSlow }, nextDataBytes }: Lane): AttemptSlot | undefined {
    if (this.starvedLanes(isSlow).size > 0 && !this.isForStarved) return undefined;
    return this.slots.takeSlot(isSlow, nextDataBytes);
  }

  private starvedLanes(isSlow: boolean): Set<Lane> {
    return isSlow ? this.starved.slow : this.starved.quick;
  }

  private scheduleTurns(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.giveTurns();
    });
  }

  private giveTurns(): void {
    this.isForStarved = true;
    this.giveTurnsToStarved(false);
    this.giveTurnsToStarved(true);
    this.isForStarved = false;
    // A lane that is added again gets another turn at the end: round after round, until no attempt starts.
    for (const lane of this.ready) this.giveTurn(lane, this.ready);
    if (this.starved.quick.size > 0) this.makeRoomLater();
  }

  private giveTurnsToStarved(isSlow: boolean): void {
    const lanes = this.starvedLanes(isSlow);
    for (const lane of lanes) {
      if (lane.isDropped) lanes.delete(lane);
      else if (!this.slots.hasRoom(isSlow, lane.nextDataBytes) || this.giveTurn(lane, lanes) === 'no_slot') return;
    }
  }

  private giveTurn(lane: Lane, from: Set<Lane>): Turn {
    from.delete(lane);
    const turn = this.delivery.takeTurn(lane);
    if (turn === 'began') this.ready.add(lane);
    if (turn === 'no_slot') this.starvedLanes(lane.pace.isSlow).add(lane);
    return turn;
  }

  /** Frees quick slots of long attempts, which must only delay slow endpoints. */
  private makeRoomLater(): void {
    if (this.isMakingRoom) return;
    this.isMakingRoom = true;
    const timer = setTimeout(() => {
      this.isMakingRoom = false;
      this.slots.moveSlowAttempts();
      this.scheduleTurns();
    }, this.makeRoomMs);
    timer.unref();
  }
}
