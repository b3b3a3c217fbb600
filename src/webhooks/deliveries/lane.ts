/** The queue of one webhook endpoint in this process: waiting deliveries and attempts in progress. */
import type { Clock } from '../../platform/clock.js';
import type { SigningKeys } from '../signing/webhook-signature.js';
import type { OpenedKeys } from './endpoint-keys.js';
import { EndpointPace } from './endpoint-pace.js';
import type { DueDelivery, DuePage } from './rows/due-deliveries.js';
import type { LaneEndpoint } from './rows/lanes.js';

/** A lane reads more deliveries if it has fewer than this. */
const FEWEST_READ = 8;
/** Maximum number of deliveries per read. */
const MOST_READ = 32;

/** State of a lane when a read of due deliveries started. */
export interface LaneRead {
  readonly endpoint: LaneEndpoint;
  /** Undefined if the keys must be decrypted. */
  readonly keys: SigningKeys | undefined;
  readonly takenMs: number;
  readonly most: number;
  /** IDs of deliveries that the lane already has. */
  readonly except: readonly string[];
}

/** An attempt with the endpoint's settings at its start. */
export interface LaneAttempt {
  readonly delivery: DueDelivery;
  readonly endpoint: LaneEndpoint;
  readonly keys: SigningKeys;
}

/** Lane is an endpoint that this process has leased. */
export class Lane {
  readonly pace = new EndpointPace();
  /** Time at which this process got the lease, by `performance.now()`. */
  takenMs = performance.now();
  /** Whether the next turn reads due deliveries. */
  mustRead = true;
  /** Whether another process may have the lease. */
  isDropped = false;
  /** Timer of the lane's next turn, and when it fires. Owned by `LaneTurns`. */
  turnTimer: NodeJS.Timeout | undefined;
  turnAtMs = 0;
  private waiting: DueDelivery[] = [];
  private readonly underWay = new Set<string>();
  private isReading = false;
  private keysUnreadable = false;
  /** The endpoint was changed and must be reloaded. */
  private isStale = false;
  private lastWorkMs = performance.now();
  private pausedUntilMs = 0;

  /** Creates a lane. @param keys decrypted keys of this version of the endpoint, if available. */
  constructor(
    public endpoint: LaneEndpoint,
    private keys?: SigningKeys,
  ) {
    this.pace.setLimits(endpoint);
    if (endpoint.hasDoneWell) this.pace.trust();
  }

  get endpointId(): string {
    return this.endpoint.id;
  }

  /** The keys with their version, for caching. */
  get openedKeys(): OpenedKeys | undefined {
    return this.keys && { version: this.endpoint.version, keys: this.keys };
  }

  /** Replaces the endpoint. Waiting deliveries use the new settings. An older version is ignored. */
  replaceEndpoint(endpoint: LaneEndpoint): void {
    const before = this.endpoint;
    if (endpoint.version < before.version) return;
    this.endpoint = endpoint;
    this.isStale = false;
    this.pace.setLimits(endpoint);
    if (before.url !== endpoint.url) this.pace.reset();
    if (before.version !== endpoint.version) {
      this.keys = undefined;
      this.mustRead = true;
    }
    // Deliveries read under the previous ordering must be read again.
    if (!endpoint.isEnabled || before.isOrdered !== endpoint.isOrdered) this.waiting = [];
  }

  /** Takes the lane again after its lease expired. Other processes may have sent the waiting deliveries. */
  retake(endpoint: LaneEndpoint): void {
    this.takenMs = performance.now();
    this.waiting = [];
    this.replaceEndpoint(endpoint);
  }

  /** Ends the lane. It starts no more attempts. Those in progress end and are recorded. */
  drop(): void {
    this.isDropped = true;
    this.waiting = [];
    clearTimeout(this.turnTimer);
  }

  /** Whether the next turn should read. */
  get wantsRead(): boolean {
    if (this.isReading) return false;
    return this.keys === undefined || (this.mustRead && this.waiting.length < FEWEST_READ);
  }

  beginRead(): LaneRead {
    this.isReading = true;
    this.mustRead = false;
    const { endpoint, keys, takenMs } = this;
    const most = Math.min(MOST_READ, Math.max(FEWEST_READ, (endpoint.concurrency ?? 0) * 2));
    return { endpoint, keys, takenMs, most, except: [...this.underWay, ...this.waiting.map(({ id }) => id)] };
  }

  /**
   * Adds the deliveries of a read. Returns false if they belong to another version of the endpoint. The lane then
   * pauses until the endpoint is replaced.
   */
  addRead({ endpoint, takenMs }: LaneRead, keys: SigningKeys, { due, hasMore }: DuePage): boolean {
    this.keysUnreadable = false;
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
    this.keysUnreadable = this.keys === undefined;
    this.mustRead = true;
  }

  endRead(): void {
    this.isReading = false;
  }

  /** Drops the keys if one of them has expired, so that it signs nothing more. */
  dropExpiredKeys(clock: Clock): void {
    const endsAtMs = this.keys?.endsAtMs;
    if (endsAtMs !== undefined && endsAtMs <= clock.now()) this.keys = undefined;
  }

  /** Whether `beginAttempt` can be called. */
  get hasNext(): boolean {
    return this.waiting.length > 0 && this.keys !== undefined;
  }

  /** Milliseconds until the pace allows the next attempt; Infinity if one in progress must end first. */
  get msUntilNext(): number {
    return this.pace.waitMs(this.underWay.size);
  }

  /** Starts the attempt of the first delivery. Requires `hasNext`. */
  beginAttempt(): LaneAttempt {
    const delivery = this.waiting.shift()!;
    this.underWay.add(delivery.id);
    this.pace.recordStart();
    return { delivery, endpoint: this.endpoint, keys: this.keys! };
  }

  /** Returns a delivery to the front of the queue after its attempt was not made. */
  putBack(delivery: DueDelivery): void {
    this.waiting.unshift(delivery);
  }

  endAttempt({ id }: DueDelivery): void {
    this.underWay.delete(id);
    this.lastWorkMs = performance.now();
  }

  /** Starts no attempts for a while. */
  pauseFor(pauseMs: number): void {
    this.pausedUntilMs = performance.now() + pauseMs;
  }

  /** Milliseconds until the pause of `pauseFor` ends. Zero or negative without one. */
  get pauseMs(): number {
    return this.pausedUntilMs - performance.now();
  }

  /** Whether this process may start attempts of the lane. */
  get isOpen(): boolean {
    return !this.isDropped && !this.isStale && this.endpoint.isEnabled;
  }

  get isBusy(): boolean {
    return this.underWay.size > 0;
  }

  /** Whether the lane has had no work for this long. */
  isIdleFor(lingerMs: number): boolean {
    if (this.isBusy || this.isReading || this.keysUnreadable) return false;
    if (!this.endpoint.isEnabled) return true;
    return this.waiting.length === 0 && !this.mustRead && performance.now() - this.lastWorkMs >= lingerMs;
  }

  /** Whether the endpoint is paused. Another process that took the lane would not know. */
  get isPaused(): boolean {
    return this.endpoint.isEnabled && this.pace.isPaused;
  }

  /** Whether the lane is idle. It stays so if a notification was lost. */
  get mayHaveMissed(): boolean {
    return this.waiting.length === 0 && !this.mustRead && !this.isReading && this.msUntilNext !== Infinity;
  }

  /** Size of the next event's data in bytes, which is the memory that its attempt takes. */
  get nextDataBytes(): number {
    return this.waiting[0]?.dataBytes ?? 0;
  }

  /** Due time of the next delivery by the database's clock; undefined if none waits. */
  get dueSinceMs(): number | undefined {
    return this.waiting[0]?.dueAt;
  }

  /** Whether the signing keys cannot be decrypted. */
  get isUnreadable(): boolean {
    return this.keysUnreadable;
  }
}
