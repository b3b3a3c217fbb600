/**
 * Decides when this process claims, renews and releases lanes. A lane is the queue of one webhook endpoint.
 * Notifications and memory are only hints. The deliveries in the database are authoritative, and a periodic scan finds
 * deliveries that the hints missed.
 */
import type { SignaledEndpoints } from '../../outbox/work-signal.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import { RepeatedRun } from '../../platform/repeated-run.js';
import type { AttemptSlots } from './attempt-slots.js';
import type { Delivery } from './delivery.js';
import type { Lane } from './lane.js';
import type { HeldLanes, LaneLeases } from './lease.js';
import type { DeliveryRecorder } from './delivery-recorder.js';
import type { LaneScan } from './rows/lane-scan.js';
import type { Lanes } from './rows/lanes.js';
import type { WorkerTimes } from './worker-times.js';

/** Maximum number of notified endpoints that wait for a claim. The periodic claim of all due lanes finds the others. */
const MAX_REMEMBERED = 10_000;
/** Maximum number of own lanes that one statement checks. */
const LANES_PER_CHECK = 500;

/** Dependencies of `DeliveryWorker`. */
export interface DeliveryWorkerParts {
  readonly rows: Lanes;
  readonly scan: LaneScan;
  readonly lanes: HeldLanes;
  readonly leases: LaneLeases;
  readonly slots: AttemptSlots;
  readonly delivery: Delivery;
  readonly results: DeliveryRecorder;
  readonly clock: Clock;
  readonly log: Logger;
  readonly times: WorkerTimes;
  /** Reports whether the process that owns lanes under this name has certainly ended. */
  readonly isDead: (owner: string) => boolean;
}

/** DeliveryWorker runs the periodic tasks of delivery until it is stopped. */
export class DeliveryWorker {
  private readonly claims: RepeatedRun;
  private readonly releases: RepeatedRun;
  private readonly runs: readonly RepeatedRun[];
  /** Endpoints with work that this process has not tried to claim yet. */
  private readonly notified = new Set<string>();
  /** Time of the latest claim of all due lanes, by `performance.now()`. */
  private claimedDueMs = -Infinity;
  /** See `unownedDueAtMs`. */
  private unownedDueMs: number | undefined;
  private isStopping = false;
  /** Whether notifications from other processes arrive. */
  private isListening = true;

  constructor(private readonly parts: DeliveryWorkerParts) {
    const { delivery, lanes, leases, times } = parts;
    this.claims = this.newRun(
      () => this.claim(),
      () => this.msUntilClaimDue,
    );
    this.releases = this.newRun(() => this.release(), times.releaseMs);
    this.runs = [
      this.claims,
      this.releases,
      this.newRun(() => leases.renewLeases(), times.renewMs),
      this.newRun(() => delivery.refresh(lanes.endpointIds()), times.refreshMs),
      this.newRun(
        () => this.scan(),
        () => times.scanMs + (2 * Math.random() - 1) * times.scanSpreadMs,
      ),
    ];
  }

  /** Starts the worker, which immediately looks for due lanes. */
  start(): void {
    for (const run of this.runs) if (run !== this.claims) run.startLater();
    this.claims.start();
  }

  /**
   * Sets whether notifications from other processes arrive. If they arrive again, earlier notifications may be lost, so
   * the worker checks all lanes.
   */
  setListening(isListening: boolean): void {
    this.isListening = isListening;
    if (isListening) this.notify('all');
  }

  /** Wakes endpoints that have work, and reloads changed endpoints. `all` does both for every endpoint. */
  notify(endpointIds: SignaledEndpoints, changed: readonly string[] = []): void {
    if (this.isStopping) return;
    const { delivery, lanes } = this.parts;
    const isAll = endpointIds === 'all';
    this.wake(isAll ? lanes.endpointIds() : endpointIds);
    if (isAll) this.claimedDueMs = -Infinity;
    if (isAll || this.notified.size > 0) this.claims.runNow();
    const toRefresh = isAll ? lanes.endpointIds() : changed.filter((id) => lanes.get(id) !== undefined);
    // The periodic refresh of all endpoints repeats a failed refresh a few seconds later.
    if (toRefresh.length > 0) delivery.refresh(toRefresh).catch(() => undefined);
  }

  /** Stops starting attempts. Attempts in progress continue. Releases idle lanes immediately. */
  stopStarting(): void {
    if (this.isStopping) return;
    this.isStopping = true;
    this.parts.leases.isEnding = true;
    this.releases.runNow();
  }

  /** Waits up to `patienceMs` for attempts in progress, then releases the lanes without attempts. Never rejects. */
  async stop(patienceMs: number): Promise<void> {
    const { slots, results, leases, lanes } = this.parts;
    this.stopStarting();
    const endMs = performance.now() + patienceMs;
    while (slots.inUse > 0 && performance.now() < endMs) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    results.stop();
    await Promise.all(this.runs.map((run) => run.stop()));
    // A lane with an attempt in progress keeps its lease, so that no other process repeats the attempt too early.
    await leases.releaseAll().catch(() => undefined);
    lanes.dropAll();
  }

  get activeAttempts(): number {
    return this.parts.slots.inUse;
  }

  /** Due time of the lane without an owner that has waited longest, as of the last scan; undefined if there is none. */
  get unownedDueAtMs(): number | undefined {
    return this.unownedDueMs;
  }

  get lanes(): Iterable<Lane> {
    return this.parts.lanes.lanesHeld();
  }

  private newRun(run: () => Promise<void>, pauseMs: number | (() => number)): RepeatedRun {
    return new RepeatedRun(run, pauseMs, (error, isFirst) => {
      if (!isFirst || this.isStopping) return;
      const text = 'Webhook work could not be read from the database; retrying';
      this.parts.log.warn({ event: 'webhook_work_failed', err: error }, text);
    });
  }

  /** Milliseconds until all due lanes are claimed again. */
  private get msUntilClaimDue(): number {
    const { claimMs, claimWithoutNotificationsMs } = this.parts.times;
    return Math.max(
      0,
      this.claimedDueMs + (this.isListening ? claimMs : claimWithoutNotificationsMs) - performance.now(),
    );
  }

  /**
   * Claims the lanes of notified endpoints. Also claims all due lanes, but only once per interval, because that query
   * also reads the lanes that already have an owner.
   */
  private async claim(): Promise<void> {
    if (this.isStopping) return;
    const { delivery, leases } = this.parts;
    delivery.resume();
    // If this process cannot hold more lanes, forget the notifications. The claim of all due lanes finds these lanes
    // later.
    if (leases.freeLanes <= 0) this.notified.clear();
    const endpointIds = [...this.notified].slice(0, leases.freeLanes);
    for (const id of endpointIds) this.notified.delete(id);
    await delivery.lease(endpointIds);
    if (this.msUntilClaimDue === 0) {
      this.claimedDueMs = performance.now();
      await delivery.leaseDue();
      await this.recheckOwn();
    }
    if (this.notified.size > 0) this.claims.runNow();
  }

  /** Wakes idle lanes of this process that have due deliveries because their notifications were lost. */
  private async recheckOwn(): Promise<void> {
    const { lanes, scan } = this.parts;
    const ids = lanes.idsOf((lane) => lane.mayHaveMissed);
    for (let at = 0; at < ids.length; at += LANES_PER_CHECK) {
      this.notify(await scan.findDue(ids.slice(at, at + LANES_PER_CHECK)));
    }
  }

  /** Releases idle lanes. During shutdown, releases all lanes without attempts in progress. */
  private async release(): Promise<void> {
    const { clock, leases, times } = this.parts;
    if (this.isStopping) return leases.releaseAll();
    for (;;) {
      const released = await leases.releaseIdle();
      if (released.length === 0 || this.isStopping) return;
      // Claim lanes again that already have due deliveries. `recheckReleased` finds deliveries that were not committed
      // yet.
      const nowMs = clock.now();
      this.notify(released.filter(({ dueAtMs }) => dueAtMs <= nowMs).map(({ endpointId }) => endpointId));
      const ids = released.map(({ endpointId }) => endpointId);
      setTimeout(() => void this.recheckReleased(ids), times.recheckMs).unref();
    }
  }

  /** Checks released lanes again. If the check fails, the next scan repeats it. */
  private async recheckReleased(endpointIds: readonly string[]): Promise<void> {
    if (this.isStopping) return;
    this.notify(await this.parts.scan.findLate(endpointIds).catch(() => []));
  }

  /** Frees the lanes of dead processes, and claims lanes whose notifications were lost. */
  private async scan(): Promise<void> {
    if (this.isStopping) return;
    const { rows, scan, isDead } = this.parts;
    await rows.endDeadLeases(isDead);
    const found = await scan.scan();
    METRICS.webhookLanesFound.series().inc(found.length);
    this.unownedDueMs = await rows.findOldestUnowned();
    this.notify(found);
  }

  /** Wakes the lanes of this process, and remembers other endpoints for the next claim. */
  private wake(endpointIds: readonly string[]): void {
    const { lanes, delivery } = this.parts;
    for (const id of endpointIds) {
      const lane = lanes.get(id);
      if (lane !== undefined) delivery.requestRead(lane);
      else if (this.notified.size < MAX_REMEMBERED) this.notified.add(id);
    }
  }
}
