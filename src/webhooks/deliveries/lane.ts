/** A lane in this process: one webhook endpoint, with the deliveries that wait there and those under way. */
import type { Clock } from '../../platform/clock.js';
import type { SigningKeys } from '../signing/webhook-signature.js';
import type { DuePage } from './due.js';
import type { OpenedKeys } from './endpoint-keys.js';
import { EndpointPace } from './endpoint-pace.js';
import type { DueDelivery } from './rows/due-deliveries.js';
import type { LaneEndpoint } from './rows/lane-endpoints.js';

/** A lane reads more when it has fewer than this. */
const FEWEST_READ = 8;
/** Deliveries that a lane reads at a time. */
const MOST_READ = 32;

/** A read of due deliveries, as it began. */
export interface LaneRead {
  readonly endpoint: LaneEndpoint;
  /** Undefined: to be opened. */
  readonly keys: SigningKeys | undefined;
  readonly takenMs: number;
  readonly most: number;
  /** Deliveries that the lane has already. */
  readonly except: readonly string[];
}

/** An attempt that begins, with the endpoint as it is then. */
export interface LaneAttempt {
  readonly delivery: DueDelivery;
  readonly endpoint: LaneEndpoint;
  readonly keys: SigningKeys;
}

/** Lane is an endpoint whose lease this process has. */
export class Lane {
  readonly pace = new EndpointPace();
  /** When this process got the lease, by `performance.now()`. */
  takenMs = performance.now();
  /** Whether the next turn looks for due deliveries. */
  mustRead = true;
  /** Whether another process may have the lease. */
  isDropped = false;
  /** The timer of the lane's next turn, and when it fires. `LaneTurns` sets them. */
  turnTimer: NodeJS.Timeout | undefined;
  turnAtMs = 0;
  private waiting: DueDelivery[] = [];
  private readonly underWay = new Set<string>();
  private isReading = false;
  private keysUnreadable = false;
  /** The endpoint was changed, and has not been read since. */
  private isStale = false;
  private lastWorkMs = performance.now();
  private pausedUntilMs = 0;

  /** @param keys of this version of the endpoint, where they are opened already. */
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

  /** The keys with the version of the endpoint that they sign for. */
  get openedKeys(): OpenedKeys | undefined {
    return this.keys && { version: this.endpoint.version, keys: this.keys };
  }

  /** Replaces the endpoint. Deliveries that wait go where it points now. An older version changes nothing. */
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
    // Deliveries that were read in another order are read again.
    if (!endpoint.isEnabled || before.isOrdered !== endpoint.isOrdered) this.waiting = [];
  }

  /** Takes the lane again after its lease had expired: other processes may have sent what waits here. */
  retake(endpoint: LaneEndpoint): void {
    this.takenMs = performance.now();
    this.waiting = [];
    this.replaceEndpoint(endpoint);
  }

  /** Ends the lane: it begins nothing more. Attempts under way end and are recorded. */
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
   * Adds what was read. Returns false if the deliveries belong to another version of the endpoint: nothing begins then
   * until the endpoint is replaced.
   */
  addRead({ endpoint, takenMs }: LaneRead, keys: SigningKeys, { due, hasMore }: DuePage): boolean {
    this.keysUnreadable = false;
    const { version, isEnabled, isOrdered } = this.endpoint;
    // Keys that were opened before a change of the endpoint may be the previous ones.
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

  /** Forgets keys of which one has expired: they must sign nothing more. */
  dropExpiredKeys(clock: Clock): void {
    const endsAtMs = this.keys?.endsAtMs;
    if (endsAtMs !== undefined && endsAtMs <= clock.now()) this.keys = undefined;
  }

  /** Whether `beginAttempt` has something to begin. */
  get hasNext(): boolean {
    return this.waiting.length > 0 && this.keys !== undefined;
  }

  /** Milliseconds until the endpoint's pace allows the next attempt; Infinity: until one under way has ended. */
  get msUntilNext(): number {
    return this.pace.waitMs(this.underWay.size);
  }

  /** Begins the attempt of the first delivery; call it where `hasNext`. */
  beginAttempt(): LaneAttempt {
    const delivery = this.waiting.shift()!;
    this.underWay.add(delivery.id);
    this.pace.begin();
    return { delivery, endpoint: this.endpoint, keys: this.keys! };
  }

  /** Puts a delivery back whose attempt was not made. */
  putBack(delivery: DueDelivery): void {
    this.waiting.unshift(delivery);
  }

  endAttempt({ id }: DueDelivery): void {
    this.underWay.delete(id);
    this.lastWorkMs = performance.now();
  }

  /** Begins nothing for a while. */
  pauseFor(pauseMs: number): void {
    this.pausedUntilMs = performance.now() + pauseMs;
  }

  /** Milliseconds until the pause of `pauseFor` is over, or less than that. */
  get pauseMs(): number {
    return this.pausedUntilMs - performance.now();
  }

  /** Whether this process may begin attempts of the lane. */
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

  /** Whether the receiver gets nothing for a while. Another process that took the lane would not know. */
  get isPaused(): boolean {
    return this.endpoint.isEnabled && this.pace.isPaused;
  }

  /** Whether the lane could begin more and knows of nothing: it stays so if a notification was lost. */
  get mayHaveMissed(): boolean {
    return this.waiting.length === 0 && !this.mustRead && !this.isReading && this.msUntilNext !== Infinity;
  }

  /** Bytes of data of the next delivery's event; its attempt takes this much memory. */
  get nextDataBytes(): number {
    return this.waiting[0]?.dataBytes ?? 0;
  }

  /** When the next delivery became due, by the database's clock; undefined where nothing waits. */
  get dueSinceMs(): number | undefined {
    return this.waiting[0]?.dueAt;
  }

  /** Whether the signing keys cannot be opened. */
  get isUnreadable(): boolean {
    return this.keysUnreadable;
  }
}
