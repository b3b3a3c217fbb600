/**
 * Implements the queue of one webhook endpoint in this process: its waiting deliveries and its attempts in progress.
 */
import type { Clock } from '../../platform/clock.js';
import type { SigningKeys } from '../signing/webhook-signature.js';
import type { OpenedKeys } from './endpoint-keys.js';
import { EndpointPace } from './endpoint-pace.js';
import type { DueDelivery, DuePage } from './rows/due-deliveries.js';
import type { LaneEndpoint } from './rows/lanes.js';

/** A lane reads more deliveries if fewer than this are waiting. Also the minimum size of a read. */
const FEWEST_READ = 8;
/** Maximum number of deliveries per read. */
const MAX_READ = 32;

/** The state of a lane when a read of due deliveries started, and the limits of that read. */
export interface LaneRead {
  readonly endpoint: LaneEndpoint;
  /** Undefined if the keys must be decrypted. */
  readonly keys: SigningKeys | undefined;
  readonly takenMs: number;
  /** Maximum number of deliveries to read. */
  readonly most: number;
  /** IDs of deliveries that the lane already has. */
  readonly except: readonly string[];
}

/** An attempt, with the endpoint's settings at the start of the attempt. */
export interface LaneAttempt {
  readonly delivery: DueDelivery;
  readonly endpoint: LaneEndpoint;
  readonly keys: SigningKeys;
}

/** Lane is the delivery queue of one endpoint while this process holds its lease. */
export class Lane {
  readonly pace = new EndpointPace();
  /** Time at which this process got the lease, by `performance.now()`. */
  takenMs = performance.now();
  /** Whether the database may contain due deliveries that the lane has not read. */
  mustRead = true;
  /** Whether the lane was dropped. Another process may then own it. */
  isDropped = false;
  /** Timer of the lane's next turn, and its time by `performance.now()`. `LaneTurns` owns both fields. */
  turnTimer: NodeJS.Timeout | undefined;
  turnAtMs = 0;
  private waiting: DueDelivery[] = [];
  /** IDs of deliveries whose attempts are in progress. */
  private readonly inProgress = new Set<string>();
  private isReading = false;
  /** See `isUnreadable`. */
  private readFailedWithoutKeys = false;
  /** Whether the endpoint was changed and must be reloaded. */
  private isStale = false;
  private lastWorkMs = performance.now();
  private pausedUntilMs = 0;

  /** @param keys decrypted keys of this version of the endpoint, if available. */
  constructor(
    public endpoint: LaneEndpoint,
    private keys?: SigningKeys,
  ) {
    this.pace.setLimits(endpoint);
    if (endpoint.latestSucceeded) this.pace.assumeQuick();
  }

  get endpointId(): string {
    return this.endpoint.id;
  }

  /** The keys with their version, for caching. */
  get openedKeys(): OpenedKeys | undefined {
    return this.keys && { version: this.endpoint.version, keys: this.keys };
  }

  /** Replaces the settings of the endpoint, also for waiting deliveries. Ignores an older version. */
  replaceEndpoint(endpoint: LaneEndpoint): void {
    const before = this.endpoint;
    if (endpoint.version < before.version) return;
    this.endpoint = endpoint;
    this.isStale = false;
    this.pace.setLimits(endpoint);
    if (before.url !== endpoint.url) this.pace.resetState();
    if (before.version !== endpoint.version) {
      this.keys = undefined;
      this.mustRead = true;
    }
    // After a change of the ordering, the deliveries must be read again.
    if (!endpoint.isEnabled || before.isOrdered !== endpoint.isOrdered) this.waiting = [];
  }

  /**
   * Takes the lane again after its lease expired. Drops waiting deliveries, which other processes may have sent
   * meanwhile.
   */
  reclaim(endpoint: LaneEndpoint): void {
    this.takenMs = performance.now();
    this.waiting = [];
    this.replaceEndpoint(endpoint);
  }

  /** Drops the lane, which starts no more attempts. Attempts in progress continue and are recorded. */
  drop(): void {
    this.isDropped = true;
    this.waiting = [];
    clearTimeout(this.turnTimer);
  }

  /** Whether the next turn should read due deliveries. */
  get wantsRead(): boolean {
    if (this.isReading) return false;
    return this.keys === undefined || (this.mustRead && this.waiting.length < FEWEST_READ);
  }

  /** Marks the start of a read. Call `addRead` or `failRead`, and then `endRead`. */
  beginRead(): LaneRead {
    this.isReading = true;
    this.mustRead = false;
    const { endpoint, keys, takenMs } = this;
    const most = Math.min(MAX_READ, Math.max(FEWEST_READ, (endpoint.concurrency ?? 0) * 2));
    return { endpoint, keys, takenMs, most, except: [...this.inProgress, ...this.waiting.map(({ id }) => id)] };
  }

  /**
   * Adds the deliveries of a read. Returns false if the endpoint had another version at the time of the read. The lane
   * then starts no attempts until the endpoint is replaced.
   */
  addRead({ endpoint, takenMs }: LaneRead, keys: SigningKeys, { due, hasMore }: DuePage): boolean {
    this.readFailedWithoutKeys = false;
    const { version, isEnabled, isOrdered } = this.endpoint;
    // Keys decrypted before a change of the endpoint may be outdated.
    if (version === endpoint.version) this.keys = keys;
    else this.mustRead = true;
    if (this.isDropped || !isEnabled || isOrdered !== endpoint.isOrdered || this.takenMs !== takenMs) return true;
    if (due.some(({ endpointVersion }) => endpointVersion !== version)) {
      this.mustRead = true;
      this.isStale = true;
      return false;
    }
    this.waiting.push(...due);
    if (hasMore) this.mustRead = true;
    if (due.length > 0) this.lastWorkMs = performance.now();
    return true;
  }

  failRead(): void {
    this.readFailedWithoutKeys = this.keys === undefined;
    this.mustRead = true;
  }

  endRead(): void {
    this.isReading = false;
  }

  /** Drops all keys if one of them has expired, so that the lane does not sign with an expired key. */
  dropExpiredKeys(clock: Clock): void {
    const endsAtMs = this.keys?.endsAtMs;
    if (endsAtMs !== undefined && endsAtMs <= clock.now()) this.keys = undefined;
  }

  /** Whether `beginAttempt` can be called. */
  get hasNext(): boolean {
    return this.waiting.length > 0 && this.keys !== undefined;
  }

  /** Milliseconds until the pace allows the next attempt; Infinity if an attempt in progress must end first. */
  get msUntilNext(): number {
    return this.pace.waitMs(this.inProgress.size);
  }

  /** Starts the attempt of the first delivery. Requires `hasNext`. */
  beginAttempt(): LaneAttempt {
    const delivery = this.waiting.shift()!;
    this.inProgress.add(delivery.id);
    this.pace.recordStart();
    return { delivery, endpoint: this.endpoint, keys: this.keys! };
  }

  /** Returns a delivery to the front of the queue, because its attempt was not made. */
  putBack(delivery: DueDelivery): void {
    this.waiting.unshift(delivery);
  }

  endAttempt({ id }: DueDelivery): void {
    this.inProgress.delete(id);
    this.lastWorkMs = performance.now();
  }

  /** Starts no attempts for `pauseMs`. */
  pauseFor(pauseMs: number): void {
    this.pausedUntilMs = performance.now() + pauseMs;
  }

  /** Milliseconds until the pause of `pauseFor` ends; zero or negative if the lane is not paused. */
  get pauseMs(): number {
    return this.pausedUntilMs - performance.now();
  }

  /** Whether this process may start attempts of the lane. */
  get isOpen(): boolean {
    return !this.isDropped && !this.isStale && this.endpoint.isEnabled;
  }

  /** Whether attempts are in progress. */
  get isBusy(): boolean {
    return this.inProgress.size > 0;
  }

  /**
   * Reports whether the lane has had no work for `lingerMs`. The lane of a disabled endpoint is idle at once. During
   * attempts and reads, and after a failed read without keys, a lane is not idle.
   */
  isIdleFor(lingerMs: number): boolean {
    if (this.isBusy || this.isReading || this.readFailedWithoutKeys) return false;
    if (!this.endpoint.isEnabled) return true;
    return this.waiting.length === 0 && !this.mustRead && performance.now() - this.lastWorkMs >= lingerMs;
  }

  /** Whether `EndpointPace` pauses the attempts. Another process that took the lane would not know the pause. */
  get isPaused(): boolean {
    return this.endpoint.isEnabled && this.pace.isPaused;
  }

  /** Whether the lane waits for a notification. If the notification was lost, only a check finds due deliveries. */
  get mayHaveMissed(): boolean {
    return this.waiting.length === 0 && !this.mustRead && !this.isReading && this.msUntilNext !== Infinity;
  }

  /** Size of the next event's data in bytes, for the memory limits of attempts; 0 if no delivery is waiting. */
  get nextDataBytes(): number {
    return this.waiting[0]?.dataBytes ?? 0;
  }

  /** Due time of the next delivery in milliseconds since the epoch; undefined if no delivery is waiting. */
  get dueSinceMs(): number | undefined {
    return this.waiting[0]?.dueAt;
  }

  /** Whether the latest read failed and the lane has no keys. The keys usually cannot be decrypted then. */
  get isUnreadable(): boolean {
    return this.readFailedWithoutKeys;
  }
}
