/**
 * Turns of the lanes: each lane with work begins one attempt, then the next lane, round after round while slots are
 * free. So an endpoint with a thousand deliveries delays no other. A lane that found no slot goes before all lanes that
 * come later, even where theirs would fit: else a large body might wait for ever.
 */
import type { AttemptSlot, AttemptSlots } from './attempt-slots.js';
import type { Lane } from './lane.js';

/** Result of a turn: an attempt began, and there may be another one; no slot was free; there was nothing to begin. */
export type Turn = 'began' | 'no_slot' | 'nothing';

/** Takes the turns of lanes. */
export interface TakesTurns {
  /** Begins the next attempt of a lane, if there is one. Waits for nothing. */
  takeTurn(lane: Lane): Turn;
}

/** LaneTurns decides which lane begins the next attempt. */
export class LaneTurns {
  /** Lanes that may have work, in the order of their turns. */
  private readonly ready = new Set<Lane>();
  /** Lanes that found no slot. The next free slot is theirs. */
  private readonly starved = { quick: new Set<Lane>(), slow: new Set<Lane>() };
  private isScheduled = false;
  private isMakingRoom = false;
  /** Whether the lanes that found no slot have their turns. */
  private isForStarved = false;

  /** @param makeRoomMs how often attempts that take long are moved to the slow slots, while quick lanes are starved. */
  constructor(
    private readonly slots: AttemptSlots,
    private readonly delivery: TakesTurns,
    private readonly makeRoomMs: number,
  ) {}

  /** Gives a lane a turn, together with all others that were queued in this turn of the event loop. */
  queueTurn(lane: Lane): void {
    this.ready.add(lane);
    this.scheduleTurns();
  }

  /** Gives a lane a turn after a pause, unless it has one sooner. */
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

  /** Takes a slot for a lane's next attempt. Undefined: none is free, or starved lanes of its kind go first. */
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
    // A lane that is added again at the end of the set has another turn: round after round, until none begins.
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

  /** Attempts that take long must only delay slow endpoints. */
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
