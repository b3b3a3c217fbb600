/**
 * Delivers webhooks in four steps: lease a lane, read its due deliveries, attempt them, record the results. A lane is
 * the queue of one webhook endpoint. Only one process leases it at a time, so order, rate and concurrency are exact in
 * memory.
 *
 * 1. `lease.ts`: claims lanes that have work and no owner.
 *
 * 2. `rows/due-deliveries.ts`: reads due deliveries. Ordered endpoints hold back those that follow an open one of the same resource.
 *
 * 3. `delivery-attempt.ts`: sends, within the endpoint's pace and the process's slots.
 *
 * 4. `record.ts`: writes the attempt, the outcome of the delivery and the health of the endpoint.
 *
 * A process that is killed between steps 3 and 4 leaves an attempt without a result. The next owner of the lane repeats
 * it: delivery is at least once.
 */
import { DatabaseUnavailable } from '../../stores/database/database-errors.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import type { AttemptSlot, AttemptSlots } from './attempt-slots.js';
import type { DeliveryAttempts } from './delivery-attempt.js';
import type { EndpointKeys } from './endpoint-keys.js';
import type { Lane, LaneAttempt } from './lane.js';
import { LaneTurns, type TakesTurns, type Turn } from './lane-turns.js';
import type { HeldLanes, LaneLeases } from './lease.js';
import type { DeliveryRecorder } from './record.js';
import type { DeliveryOutcome } from './rows/delivery-results.js';
import type { DueDelivery, DueReader } from './rows/due-deliveries.js';
import type { WorkerTimes } from './worker-times.js';

/** Pause of an endpoint after the process lacked the resources for a connection. */
const SHORTAGE_PAUSE_MS = 1_000;
/** Pause after signing keys could not be decrypted, or the database rejected a result. */
const TROUBLE_PAUSE_MS = 30_000;
/** Pause while the database is unavailable. */
const OUTAGE_PAUSE_MS = 1_000;

/** Dependencies of `Delivery`. */
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
  /** Whether a lane had its turn while no attempt could start. */
  private isHeldUp = false;

  constructor(private readonly parts: DeliveryParts) {
    this.turns = new LaneTurns(parts.slots, this, parts.times.makeRoomMs);
  }

  /** Leases the lanes of these endpoints unless another process owns them, and delivers what is due. */
  async lease(endpointIds: readonly string[]): Promise<void> {
    this.wakeAll(await this.parts.leases.claimThese(endpointIds));
  }

  /** Leases lanes that have due deliveries and no owner, while there is room. */
  async leaseDue(): Promise<void> {
    for await (const lanes of this.parts.leases.claimDue()) this.wakeAll(lanes);
  }

  /** Makes a lane read its due deliveries. */
  wake(lane: Lane): void {
    lane.mustRead = true;
    this.turns.queueTurn(lane);
  }

  /** Reloads these endpoints. Waiting deliveries use the new settings. */
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

  /** Gives all lanes a turn if any had one while no attempt could start. */
  resume(): void {
    if (!this.isHeldUp || !this.canBegin()) return;
    this.isHeldUp = false;
    for (const lane of this.parts.lanes.all()) this.turns.queueTurn(lane);
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
      const made = await attempts.attempt(attempt);
      if (made === null) lane.pace.recordSkipped(0);
      else if ('shortOf' in made) {
        lane.pace.recordSkipped(SHORTAGE_PAUSE_MS);
        lane.putBack(delivery);
      } else {
        lane.pace.recordResult(made);
        this.scheduleRead(lane, delivery, await results.record(lane.endpoint, delivery, made, endpoint.url));
      }
    } catch (error) {
      // Pause first: an attempt whose result cannot be written would be repeated immediately.
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
    const text = 'Deliveries of a webhook endpoint failed to proceed; retrying';
    this.parts.log.warn({ event: 'webhook_lane_failed', endpoint_id: lane.endpointId, err: error }, text);
  }
}
