/**
 * The lanes that this process owns, and their turns: each that has something to do begins one attempt, then the next
 * lane, and again, as long as there are places. So one with a thousand deliveries stands before nobody. Who had no
 * place waits before all who come later, also where theirs would be smaller: else a large body might wait for ever.
 */
import type { LaneEndpoint } from '../deliveries/lane-endpoints.js';
import { Lane, type LaneCrew, type Step } from './lane.js';
import type { Place, Places } from './places.js';
import { RestingKeys } from './resting-keys.js';

/** While quick lanes wait for a place, it is looked so often for attempts that are not quick. */
const MAKE_ROOM_INTERVAL_MS = 100;

/** LanesHeld keeps them by their endpoint. */
export class LanesHeld {
  private readonly lanes = new Map<string, Lane>();
  /** Those that may have something to do, in the order of their turns. */
  private readonly ready = new Set<Lane>();
  /** Those that had no place, by whether they are slow: the next that is free is theirs. */
  private readonly starved = { fast: new Set<Lane>(), slow: new Set<Lane>() };
  private readonly restingKeys = new RestingKeys();
  private isTurning = false;
  private isMakingRoom = false;
  /** Whether it is the turn of those that had no place. */
  private isForStarved = false;

  constructor(
    private readonly places: Places,
    private readonly makeRoomIntervalMs = MAKE_ROOM_INTERVAL_MS,
  ) {}

  get size(): number {
    return this.lanes.size;
  }

  ids(): string[] {
    return [...this.lanes.keys()];
  }

  /** The endpoints of those lanes of which that is true. */
  idsOf(which: (lane: Lane) => boolean): string[] {
    return [...this.lanes.values()].filter(which).map(({ endpointId }) => endpointId);
  }

  all(): Iterable<Lane> {
    return this.lanes.values();
  }

  get(endpointId: string): Lane | undefined {
    return this.lanes.get(endpointId);
  }

  /** Takes a lane in, with what its endpoint is. */
  add(endpoint: LaneEndpoint, crew: LaneCrew): void {
    const lane = new Lane(endpoint.id, crew);
    this.lanes.set(endpoint.id, lane);
    lane.use(endpoint, this.restingKeys.take(endpoint.id, endpoint.version));
  }

  /** Lets go of a lane that has nothing to do; its keys are kept for a while. */
  rest(endpointId: string): void {
    const opened = this.lanes.get(endpointId)?.openedKeys;
    if (opened !== undefined) this.restingKeys.put(endpointId, opened);
    this.drop(endpointId);
  }

  /** Lets go of a lane: nothing more begins there. */
  drop(endpointId: string): void {
    const lane = this.lanes.get(endpointId);
    if (lane === undefined) return;
    this.lanes.delete(endpointId);
    for (const set of [this.ready, this.starved.fast, this.starved.slow]) set.delete(lane);
    lane.drop();
  }

  dropAll(): void {
    for (const id of this.ids()) this.drop(id);
  }

  /** A lane has something to do: it gets its turn with the others of this turn of the event loop. */
  wantsTurn(lane: Lane): void {
    this.ready.add(lane);
    this.turnSoon();
  }

  /** Everybody gets a turn: a place is free, or attempts may begin again. */
  turnAll(): void {
    for (const lane of this.lanes.values()) this.ready.add(lane);
    this.turnSoon();
  }

  /** A place for the next attempt of a lane; undefined where there is none, or others of its kind wait for one. */
  takePlace({ pace: { isSlow }, nextDataBytes }: Lane): Place | undefined {
    const others = isSlow ? this.starved.slow : this.starved.fast;
    if (others.size > 0 && !this.isForStarved) return undefined;
    return this.places.take(isSlow, nextDataBytes);
  }

  /** It is free again; its lane has a turn then, and with it those that wait. */
  givePlace(place: Place): void {
    this.places.give(place);
  }

  private turnSoon(): void {
    if (this.isTurning) return;
    this.isTurning = true;
    setImmediate(() => {
      this.isTurning = false;
      this.turn();
    });
  }

  /** What is put back at the end of a set is visited again: round after round, until nobody begins anything. */
  private turn(): void {
    const { fast, slow } = this.starved;
    this.isForStarved = true;
    for (const lane of fast) {
      if (!this.places.hasRoom(false, lane.nextDataBytes) || this.step(lane, fast) === 'no_place') break;
    }
    for (const lane of slow) {
      if (!this.places.hasRoom(true, lane.nextDataBytes) || this.step(lane, slow) === 'no_place') break;
    }
    this.isForStarved = false;
    for (const lane of this.ready) this.step(lane, this.ready);
    if (fast.size > 0) this.makeRoomLater();
  }

  /** Quick ones wait: attempts that take long are to stand in nobody's way but that of the slow. */
  private makeRoomLater(): void {
    if (this.isMakingRoom) return;
    this.isMakingRoom = true;
    const timer = setTimeout(() => {
      this.isMakingRoom = false;
      this.places.turnSlow();
      this.turnSoon();
    }, this.makeRoomIntervalMs);
    timer.unref();
  }

  private step(lane: Lane, from: Set<Lane>): Step {
    from.delete(lane);
    const came = lane.step();
    if (came === 'began') this.ready.add(lane);
    if (came === 'no_place') (lane.pace.isSlow ? this.starved.slow : this.starved.fast).add(lane);
    return came;
  }
}
