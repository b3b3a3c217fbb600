/**
 * Schedules lanes round-robin while slots are free. In its turn, a lane starts one attempt, and the next lane follows.
 * So an endpoint with a thousand deliveries does not delay other endpoints. A lane that found no free slot precedes all
 * later lanes that need the same kind of slot. Otherwise a large body might wait forever.
 */
import type { AttemptSlot, AttemptSlots } from './attempt-slots.js';
import type { Lane } from './lane.js';

/** Result of a turn: an attempt began and more may follow, no slot was free, or there was nothing to start. */
export type Turn = 'began' | 'no_slot' | 'nothing';

/** TurnHandler starts the attempts of a lane in its turn. */
export interface TurnHandler {
  /** Starts the next attempt of a lane, if any. Must not block. */
  takeTurn(lane: Lane): Turn;
}

/** LaneTurns decides which lane starts the next attempt. */
export class LaneTurns {
  /** Lanes that may have work, in order of their turns. */
  private readonly ready = new Set<Lane>();
  /** Lanes that found no free slot, by the kind of slot. These lanes get the next free slots. */
  private readonly starved = { quick: new Set<Lane>(), slow: new Set<Lane>() };
  private isScheduled = false;
  /** Whether `makeRoomLater` has set its timer. */
  private isMakingRoom = false;
  /** Whether the starved lanes have their turns now. */
  private isForStarved = false;

  /**
   * @param makeRoomMs interval at which long attempts move to the slow slots, while quick lanes wait for a slot.
   */
  constructor(
    private readonly slots: AttemptSlots,
    private readonly delivery: TurnHandler,
    private readonly makeRoomMs: number,
  ) {}

  /** Queues a lane for its turn. The turns run in the next iteration of the event loop. */
  queueTurn(lane: Lane): void {
    this.ready.add(lane);
    this.scheduleTurns();
  }

  /**
   * Gives a lane its turn after a pause, unless an earlier turn is planned. Returns `nothing`, for use in `takeTurn`.
   */
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
   * Takes a slot for a lane's next attempt. Returns undefined if no slot is free, or if other lanes wait for the same
   * kind of slot.
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
    // A lane that starts an attempt is added again at the end. So the loop continues until no attempt starts.
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

  /** Gives one lane its turn, and queues the lane by the result. */
  private giveTurn(lane: Lane, from: Set<Lane>): Turn {
    from.delete(lane);
    const turn = this.delivery.takeTurn(lane);
    if (turn === 'began') this.ready.add(lane);
    if (turn === 'no_slot') this.starvedLanes(lane.pace.isSlow).add(lane);
    return turn;
  }

  /** Schedules a move of slow attempts to the slow slots, so that slow attempts do not delay quick endpoints. */
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
