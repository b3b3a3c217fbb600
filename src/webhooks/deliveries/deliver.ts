/**
 * Delivers webhooks in four steps: lease a lane, read its due deliveries, attempt them, record the results. A lane is
 * one webhook endpoint. One process leases it at a time, so its order, rate and concurrency are exact in memory.
 *
 * 1. `lease.ts`: claims lanes with work that no process owns.
 * 2. `due.ts`: reads what is due. Deliveries behind an open one of their resource are held back.
 * 3. `delivery-attempt.ts`: sends, as the endpoint's pace and the slots of the process allow.
 * 4. `record.ts`: writes the attempt, the outcome of the delivery and the health of the endpoint.
 *
 * A process that is killed after step 3 and before step 4 leaves an attempt without a result. The next owner of the
 * lane repeats it: delivery is at least once.
 */
import { DatabaseUnavailable } from '../../stores/database/database-errors.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import type { AttemptSlot, AttemptSlots } from './attempt-slots.js';
import type { DeliveryAttempts } from './delivery-attempt.js';
import type { DueReader } from './due.js';
import type { EndpointKeys } from './endpoint-keys.js';
import type { HeldLanes } from './held-lanes.js';
import type { Lane, LaneAttempt } from './lane.js';
import { LaneTurns, type TakesTurns, type Turn } from './lane-turns.js';
import type { LaneLeases } from './lease.js';
import type { DeliveryRecorder } from './record.js';
import type { DeliveryOutcome } from './rows/delivery-results.js';
import type { DueDelivery } from './rows/due-deliveries.js';
import type { WorkerTimes } from './worker-times.js';

/** Pause of an endpoint after an attempt for which this process had no connection. */
const SHORTAGE_PAUSE_MS = 1_000;
/** Pause after keys that cannot be opened, and after a result that the database has refused. */
const TROUBLE_PAUSE_MS = 30_000;
/** Pause while the database is away. */
const OUTAGE_PAUSE_MS = 1_000;

/** The parts that deliveries are made with. */
export interface DeliveryParts {
  readonly lanes: Pick<HeldLanes, 'all' | 'get'>;
  readonly leases: Pick<LaneLeases, 'areValid' | 'isEnding' | 'claimThese' | 'claimDue' | 'refresh'>;
  readonly slots: AttemptSlots;
  readonly due: Pick<DueReader, 'readPage'>;
  readonly keys: Pick<EndpointKeys, 'open'>;
  readonly attempts: Pick<DeliveryAttempts, 'attempt'>;
  readonly results: Pick<DeliveryRecorder, 'record' | 'isStuck'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly times: WorkerTimes;
}

/** Delivery delivers what is due at the endpoints that this process leases. */
export class Delivery implements TakesTurns {
  private readonly turns: LaneTurns;
  /** Whether a lane had its turn while nothing could begin. */
  private isHeldUp = false;

  constructor(private readonly parts: DeliveryParts) {
    this.turns = new LaneTurns(parts.slots, this, parts.times.makeRoomMs);
  }

  /** Leases the lanes of these endpoints, unless other processes own them, and delivers what is due there. */
  async lease(endpointIds: readonly string[]): Promise<void> {
    this.wakeAll(await this.parts.leases.claimThese(endpointIds));
  }

  /** Leases all lanes with due deliveries that no process owns, as long as there is room. */
  async leaseDue(): Promise<void> {
    for await (const lanes of this.parts.leases.claimDue()) this.wakeAll(lanes);
  }

  /** Makes a lane look for due deliveries. */
  wake(lane: Lane): void {
    lane.mustRead = true;
    this.turns.queueTurn(lane);
  }

  /** Reads these endpoints again. What waits for them goes out as they are now. */
  async refresh(endpointIds: readonly string[]): Promise<void> {
    try {
      await this.parts.leases.refresh(endpointIds);
    } finally {
      // Some may have been read where others could not be.
      for (const id of endpointIds) {
        const lane = this.parts.lanes.get(id);
        if (lane?.mustRead === true) this.turns.queueTurn(lane);
      }
    }
  }

  /** Gives all lanes a turn where some had one while nothing could begin. */
  resume(): void {
    if (!this.isHeldUp || !this.canBegin()) return;
    this.isHeldUp = false;
    for (const lane of this.parts.lanes.all()) this.turns.queueTurn(lane);
  }

  /** Reads what is due if the lane wants more, and begins its next attempt if one may begin. */
  takeTurn(lane: Lane): Turn {
    lane.dropExpiredKeys(this.parts.clock);
    if (!lane.isOpen || !this.canBegin()) return 'nothing';
    if (lane.pauseMs > 0) return this.turns.queueTurnIn(lane, lane.pauseMs);
    if (lane.wantsRead) void this.readDue(lane);
    if (!lane.hasNext) return 'nothing';
    const waitMs = lane.msUntilNext;
    if (waitMs === Infinity) return 'nothing';
    if (waitMs > 0) return this.turns.queueTurnIn(lane, waitMs);
    const slot = this.turns.takeSlot(lane);
    if (slot === undefined) return 'no_slot';
    void this.deliver(lane, lane.beginAttempt(), slot);
    return 'began';
  }

  private async readDue(lane: Lane): Promise<void> {
    const { due, keys } = this.parts;
    const read = lane.beginRead();
    try {
      const [opened, page] = await Promise.all([
        read.keys ?? keys.open(lane.endpointId),
        due.readPage(read.endpoint, read.most, read.except),
      ]);
      if (!lane.addRead(read, opened, page)) await this.refresh([lane.endpointId]);
    } catch (error) {
      lane.failRead();
      this.pause(lane, error);
    } finally {
      lane.endRead();
      this.turns.queueTurn(lane);
    }
  }

  private async deliver(lane: Lane, attempt: LaneAttempt, slot: AttemptSlot): Promise<void> {
    const { attempts, results, slots } = this.parts;
    const { delivery, endpoint } = attempt;
    try {
      const made = await attempts.attempt(attempt);
      if (made === null) lane.pace.putOff(0);
      else if ('shortOf' in made) {
        lane.pace.putOff(SHORTAGE_PAUSE_MS);
        lane.putBack(delivery);
      } else {
        lane.pace.end(made);
        this.scheduleRead(lane, delivery, await results.record(lane.endpoint, delivery, made, endpoint.url));
      }
    } catch (error) {
      // Not at once: an attempt whose result cannot be written would be repeated again and again.
      this.pause(lane, error);
    } finally {
      slots.freeSlot(slot);
      lane.endAttempt(delivery);
      this.turns.queueTurn(lane);
    }
  }

  /** Reads a retry when it is due, if that is soon, and the next delivery of the resource at once. */
  private scheduleRead(lane: Lane, { resource }: DueDelivery, outcome: DeliveryOutcome): void {
    if (outcome.state !== 'pending') {
      if (lane.endpoint.isOrdered && resource !== null) lane.mustRead = true;
      return;
    }
    const inMs = Math.max(0, outcome.dueAtMs - this.parts.clock.now());
    if (inMs <= this.parts.times.lingerMs) setTimeout(() => this.wake(lane), inMs + 1).unref();
  }

  private wakeAll(lanes: readonly Lane[]): void {
    for (const lane of lanes) this.wake(lane);
  }

  private canBegin(): boolean {
    const { leases, results } = this.parts;
    if (leases.areValid && !results.isStuck) return true;
    this.isHeldUp = true;
    return false;
  }

  private pause(lane: Lane, error: unknown): void {
    lane.pauseFor(error instanceof DatabaseUnavailable ? OUTAGE_PAUSE_MS : TROUBLE_PAUSE_MS);
    if (this.parts.leases.isEnding) return;
    const text = 'A webhook endpoint could not be worked on; tried again';
    this.parts.log.warn({ event: 'webhook_lane_failed', endpoint_id: lane.endpointId, err: error }, text);
  }
}
