/**
 * Delivers webhooks in four steps. A lane is the queue of one webhook endpoint. Only one process leases a lane at a
 * time, so this process can enforce order, rate and concurrency in memory.
 *
 * 1. `lease.ts` claims lanes that have work and no owner.
 *
 * 2. `rows/due-deliveries.ts` reads the due deliveries of a lane. For ordered endpoints, it holds back deliveries that
 * must wait for an earlier delivery of the same resource.
 *
 * 3. `delivery-attempt.ts` sends the webhook, within the endpoint's pace and the process's attempt slots.
 *
 * 4. `record.ts` writes the attempt, the outcome of the delivery and the health of the endpoint.
 *
 * If a process is killed between steps 3 and 4, the result of an attempt is lost. The next owner of the lane repeats
 * the attempt. So webhooks are delivered at least once.
 */
import { DatabaseUnavailable } from '../../stores/database/database-errors.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import type { AttemptSlot, AttemptSlots } from './attempt-slots.js';
import type { DeliveryAttempts } from './delivery-attempt.js';
import type { EndpointKeys } from './endpoint-keys.js';
import type { Lane, LaneAttempt } from './lane.js';
import { LaneTurns, type TurnHandler, type Turn } from './lane-turns.js';
import type { HeldLanes, LaneLeases } from './lease.js';
import type { DeliveryRecorder } from './delivery-recorder.js';
import type { DeliveryOutcome } from './rows/delivery-results.js';
import type { DueDelivery, DueReader } from './rows/due-deliveries.js';
import type { WorkerTimes } from './worker-times.js';

/** Pause of an endpoint after this process lacked the resources for a connection. */
const SHORTAGE_PAUSE_MS = 1_000;
/** Pause of a lane after errors such as keys that cannot be decrypted, or a result that the database rejects. */
const TROUBLE_PAUSE_MS = 30_000;
/** Pause of a lane after the database was unavailable. */
const OUTAGE_PAUSE_MS = 1_000;

/** Dependencies of `Delivery`. */
export interface DeliveryParts {
  readonly lanes: Pick<HeldLanes, 'lanesHeld' | 'get'>;
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

/** Delivery delivers the due deliveries of the endpoints that this process leases. */
export class Delivery implements TurnHandler {
  private readonly turns: LaneTurns;
  /** Whether a lane had its turn while this process could not start attempts. `resume` then repeats the turns. */
  private isHeldUp = false;

  constructor(private readonly parts: DeliveryParts) {
    this.turns = new LaneTurns(parts.slots, this, parts.times.makeRoomMs);
  }

  /** Leases the lanes of these endpoints, unless other processes own them, and delivers their due deliveries. */
  async lease(endpointIds: readonly string[]): Promise<void> {
    this.wakeAll(await this.parts.leases.claimThese(endpointIds));
  }

  /** Leases lanes that have due deliveries and no owner, until this process has as many lanes as it can hold. */
  async leaseDue(): Promise<void> {
    for await (const lanes of this.parts.leases.claimDue()) this.wakeAll(lanes);
  }

  /** Makes a lane read its due deliveries in its next turn. */
  requestRead(lane: Lane): void {
    lane.mustRead = true;
    this.turns.queueTurn(lane);
  }

  /** Reloads the settings of these endpoints. The new settings also apply to waiting deliveries. */
  async refresh(endpointIds: readonly string[]): Promise<void> {
    try {
      await this.parts.leases.refresh(endpointIds);
    } finally {
      // Some endpoints may have been reloaded even if others failed.
      for (const id of endpointIds) {
        const lane = this.parts.lanes.get(id);
        if (lane?.mustRead === true) this.turns.queueTurn(lane);
      }
    }
  }

  /** Gives all lanes a turn if this process could not start attempts for a while, and can now. */
  resume(): void {
    if (!this.isHeldUp || !this.canBegin()) return;
    this.isHeldUp = false;
    for (const lane of this.parts.lanes.lanesHeld()) this.turns.queueTurn(lane);
  }

  /** Reads due deliveries if the lane needs more, and starts its next attempt if the limits allow. */
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
      const result = await attempts.attempt(attempt);
      if (result === null) lane.pace.recordSkipped(0);
      else if ('shortOf' in result) {
        lane.pace.recordSkipped(SHORTAGE_PAUSE_MS);
        lane.putBack(delivery);
      } else {
        lane.pace.recordResult(result);
        this.scheduleRead(lane, delivery, await results.record(lane.endpoint, delivery, result, endpoint.url));
      }
    } catch (error) {
      // Pause before the next turn. Otherwise an attempt whose result cannot be written would be repeated immediately.
      this.pause(lane, error);
    } finally {
      slots.freeSlot(slot);
      lane.endAttempt(delivery);
      this.turns.queueTurn(lane);
    }
  }

  /** Schedules the next read: for a retry that is due soon, or for the next delivery of an ordered resource. */
  private scheduleRead(lane: Lane, { resource }: DueDelivery, outcome: DeliveryOutcome): void {
    if (outcome.state !== 'pending') {
      if (lane.endpoint.isOrdered && resource !== null) lane.mustRead = true;
      return;
    }
    const inMs = Math.max(0, outcome.dueAtMs - this.parts.clock.now());
    if (inMs <= this.parts.times.lingerMs) setTimeout(() => this.requestRead(lane), inMs + 1).unref();
  }

  private wakeAll(lanes: readonly Lane[]): void {
    for (const lane of lanes) this.requestRead(lane);
  }

  /** Reports whether this process may start attempts: its leases are valid, and results can be written. */
  private canBegin(): boolean {
    const { leases, results } = this.parts;
    if (leases.areValid && !results.isStuck) return true;
    this.isHeldUp = true;
    return false;
  }

  /** Pauses a lane after an error, and logs the error. */
  private pause(lane: Lane, error: unknown): void {
    lane.pauseFor(error instanceof DatabaseUnavailable ? OUTAGE_PAUSE_MS : TROUBLE_PAUSE_MS);
    if (this.parts.leases.isEnding) return;
    const text = 'Deliveries of a webhook endpoint failed to proceed; retrying';
    this.parts.log.warn({ event: 'webhook_lane_failed', endpoint_id: lane.endpointId, err: error }, text);
  }
}
