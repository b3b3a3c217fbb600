/**
 * A webhook endpoint as its owner works on it: reads what is due, and begins attempts as the endpoint's pace and the
 * places of the process allow. It is told and asked by the worker, and waits for nothing itself.
 */
import { DatabaseUnavailable } from '../../stores/database/database-errors.js';
import type { AttemptRecord } from '../deliveries/delivery-results.js';
import type { DueDelivery } from '../deliveries/due-deliveries.js';
import type { LaneEndpoint } from '../deliveries/lane-endpoints.js';
import type { AttemptMade, AttemptPutOff } from '../sending/attempt.js';
import type { SigningKeys } from '../signing/webhook-signature.js';
import type { DuePage } from './due-reader.js';
import { LanePace } from './lane-pace.js';
import type { Place } from './places.js';
import type { OpenedKeys } from './resting-keys.js';

/** Deliveries that are read at a time, and those that are in memory at most. */
const FEWEST_READ = 8;
const MOST_READ = 32;
/** An attempt for which this process lacked something is made after this. */
const SHORTAGE_PAUSE_MS = 1_000;
/** Keys that could not be opened, and a result that the database has refused, are tried again after this. */
const TROUBLE_PAUSE_MS = 30_000;
/** While the database is away. */
const OUTAGE_PAUSE_MS = 1_000;

/** What came of a lane's turn: an attempt, and perhaps there is another one; none for want of a place; nothing. */
export type Step = 'began' | 'no_place' | 'nothing';

/** What lanes ask of the rest of the worker. */
export interface LaneCrew {
  /** How long a lane without work stays in hand. */
  readonly lingerMs: number;
  /** Undefined: wait for your turn, `no_place`. */
  takePlace(lane: Lane): Place | undefined;
  givePlace(place: Place): void;
  /** Whether an attempt may begin at all: the leases are renewed, the database takes results. */
  mayBegin(): boolean;
  /** What is due now, and whether there is more than that. */
  readDue(endpoint: LaneEndpoint, most: number, except: readonly string[]): Promise<DuePage>;
  openKeys(endpointId: string): Promise<SigningKeys>;
  attempt(
    endpoint: LaneEndpoint,
    keys: SigningKeys,
    delivery: DueDelivery,
  ): Promise<AttemptMade | AttemptPutOff | null>;
  /** @param url where it was sent: the endpoint may have another one by now. */
  outcomeOf(endpoint: LaneEndpoint, delivery: DueDelivery, made: AttemptMade, url: string): AttemptRecord;
  /** How long until a time of the table. */
  msUntil(dueAtMs: number): number;
  /** Resolves when it is written. */
  record(record: AttemptRecord): Promise<void>;
  /** The endpoint has been changed since it was read: `use` is called soon. */
  changed(lane: Lane): void;
  /** The lane has something to do: `step` is called soon. */
  wantsTurn(lane: Lane): void;
  /** Something could not be done; it is tried again. */
  failed(lane: Lane, error: unknown): void;
}

/** Lane is an endpoint in the hands of this process. */
export class Lane {
  readonly pace = new LanePace();
  /** Undefined: not read yet. */
  endpoint: LaneEndpoint | undefined;
  private keys: SigningKeys | undefined;
  private keysUnreadable = false;
  private waiting: DueDelivery[] = [];
  private readonly underWay = new Set<string>();
  private isReading = false;
  private mustRead = true;
  /** The endpoint has been changed, and nobody has said yet into what. */
  private isStale = false;
  private isDropped = false;
  /** By `performance.now()`. */
  takenMs = performance.now();
  private lastWorkMs = performance.now();
  private notBeforeMs = 0;
  private timer: NodeJS.Timeout | undefined;
  private timerAtMs = Infinity;

  constructor(
    readonly endpointId: string,
    private readonly crew: LaneCrew,
  ) {}

  /**
   * Takes over what the endpoint is now; what waits goes where it says now.
   * @param keys that are open for it already.
   */
  use(endpoint: LaneEndpoint | undefined, keys?: SigningKeys): void {
    const before = this.endpoint;
    this.endpoint = endpoint;
    this.isStale = false;
    if (endpoint === undefined) return;
    this.pace.use(endpoint);
    if (before === undefined && endpoint.hasDoneWell) this.pace.trust();
    if (before !== undefined && before.url !== endpoint.url) this.pace.reset();
    if (before?.version !== endpoint.version) this.keys = keys;
    // What was read by another order is read again.
    if (!endpoint.isEnabled || before?.isOrdered !== endpoint.isOrdered) this.waiting = [];
    if (!endpoint.isEnabled) return;
    if (before?.version !== endpoint.version || this.mustRead) this.told();
  }

  /** The lease was over, and is this process's again: others may have sent meanwhile what has been read. */
  retake(endpoint: LaneEndpoint): void {
    this.takenMs = performance.now();
    this.waiting = [];
    this.use(endpoint);
  }

  /** There may be something new: looks at once. */
  told(): void {
    this.mustRead = true;
    this.crew.wantsTurn(this);
  }

  /** What it signs with, where that is open. */
  get openedKeys(): OpenedKeys | undefined {
    const { endpoint, keys } = this;
    return endpoint === undefined || keys === undefined ? undefined : { version: endpoint.version, keys };
  }

  /** The lane is another process's: nothing more begins here; what is under way comes to its end and is recorded. */
  drop(): void {
    this.isDropped = true;
    this.waiting = [];
    clearTimeout(this.timer);
  }

  /** Whether it has had nothing to do for so long. */
  isIdleFor(lingerMs: number): boolean {
    if (this.isBusy || this.isReading || this.keysUnreadable) return false;
    if (this.endpoint?.isEnabled === false) return true;
    return this.waiting.length === 0 && !this.mustRead && performance.now() - this.lastWorkMs >= lingerMs;
  }

  /** Whether the receiver gets nothing for a while, and whoever had this lane anew would not know it. */
  get isPaused(): boolean {
    return this.endpoint?.isEnabled === true && this.pace.isPaused;
  }

  get isBusy(): boolean {
    return this.underWay.size > 0;
  }

  /** Whether it has room and knows of nothing to do: a word that was lost on the way would leave it so. */
  get mayHaveMissed(): boolean {
    const knowsNothing = this.waiting.length === 0 && !this.mustRead && !this.isReading;
    return knowsNothing && this.pace.waitMs(this.underWay.size) !== Infinity;
  }

  /** Deliveries that are read and not begun. */
  get backlog(): number {
    return this.waiting.length;
  }

  /** Bytes that the event of the first of them says: its attempt takes so much memory. */
  get nextDataBytes(): number {
    return this.waiting[0]?.dataBytes ?? 0;
  }

  /** Since when the first of them is due; undefined where nothing waits here. By the clock of the table. */
  get dueSinceMs(): number | undefined {
    return this.waiting[0]?.dueAt;
  }

  get isUnreadable(): boolean {
    return this.keysUnreadable;
  }

  /** Does the next thing that can be done. */
  step(): Step {
    this.forgetEndedKeys();
    const { endpoint, keys } = this;
    if (this.isDropped || this.isStale || endpoint?.isEnabled !== true || !this.crew.mayBegin()) return 'nothing';
    const troubleMs = this.notBeforeMs - performance.now();
    if (troubleMs > 0) return this.turnIn(troubleMs);
    if (this.wantsRead && !this.isReading) void this.read(endpoint);
    const [next] = this.waiting;
    if (next === undefined || keys === undefined) return 'nothing';
    const waitMs = this.pace.waitMs(this.underWay.size);
    if (waitMs > 0) return waitMs === Infinity ? 'nothing' : this.turnIn(waitMs);
    const place = this.crew.takePlace(this);
    if (place === undefined) return 'no_place';
    this.waiting.shift();
    this.pace.begun();
    this.underWay.add(next.id);
    void this.deliver(endpoint, keys, next).finally(() => {
      this.crew.givePlace(place);
      this.underWay.delete(next.id);
      this.lastWorkMs = performance.now();
      this.crew.wantsTurn(this);
    });
    return 'began';
  }

  /** Does not sign any longer with a key that has ended. */
  private forgetEndedKeys(): void {
    if (this.keys?.endsAtMs !== undefined && this.crew.msUntil(this.keys.endsAtMs) === 0) this.keys = undefined;
  }

  private get wantsRead(): boolean {
    return this.keys === undefined || (this.mustRead && this.waiting.length < FEWEST_READ);
  }

  private async deliver(endpoint: LaneEndpoint, keys: SigningKeys, delivery: DueDelivery): Promise<void> {
    try {
      const made = await this.crew.attempt(endpoint, keys, delivery);
      if (made === null) return this.pace.putOff(0);
      if ('shortOf' in made) {
        this.pace.putOff(SHORTAGE_PAUSE_MS);
        this.waiting.unshift(delivery);
        return;
      }
      this.pace.ended(made);
      const now = this.endpoint ?? endpoint;
      // What an address said that is not the endpoint's any more ends nothing.
      const hasMoved = made.outcome === 'gone' && now.url !== endpoint.url;
      const judged = hasMoved ? { ...made, outcome: 'failed' as const } : made;
      const record = this.crew.outcomeOf(now, delivery, judged, endpoint.url);
      await this.crew.record(record);
      this.lookAfter(record);
    } catch (error) {
      // Not at once: what was made and could not be written would be made again and again.
      this.rest(error);
    }
  }

  private async read(endpoint: LaneEndpoint): Promise<void> {
    this.isReading = true;
    this.mustRead = false;
    const { takenMs } = this;
    try {
      const most = Math.min(MOST_READ, Math.max(FEWEST_READ, (endpoint.concurrency ?? 0) * 2));
      const except = [...this.underWay, ...this.waiting.map(({ id }) => id)];
      const [keys, { due, hasMore }] = await Promise.all([
        this.keys ?? this.crew.openKeys(this.endpointId),
        this.crew.readDue(endpoint, most, except),
      ]);
      this.keysUnreadable = false;
      // What was asked for before the endpoint was changed may be what it signed with before.
      if (this.endpoint?.version === endpoint.version) this.keys = keys;
      else this.mustRead = true;
      if (this.isDropped || this.endpoint?.isEnabled !== true) return;
      const { version, isOrdered } = this.endpoint;
      if (isOrdered !== endpoint.isOrdered || this.takenMs !== takenMs) return;
      // What happened behind a change goes out as the endpoint is since then, though nobody has told of it yet.
      if (due.some(({ endpointVersion }) => endpointVersion !== version)) {
        this.mustRead = true;
        this.isStale = true;
        this.crew.changed(this);
        return;
      }
      this.waiting.push(...due);
      if (hasMore) this.mustRead = true;
      if (due.length > 0) this.lastWorkMs = performance.now();
    } catch (error) {
      this.keysUnreadable = this.keys === undefined;
      this.mustRead = true;
      this.rest(error);
    } finally {
      this.isReading = false;
      this.crew.wantsTurn(this);
    }
  }

  private rest(error: unknown): void {
    const pauseMs = error instanceof DatabaseUnavailable ? OUTAGE_PAUSE_MS : TROUBLE_PAUSE_MS;
    this.notBeforeMs = performance.now() + pauseMs;
    this.crew.failed(this, error);
  }

  /** A retry that is due soon is read then, where the lane is still here; and what stood behind it, at once. */
  private lookAfter({ outcome, delivery: { resource } }: AttemptRecord): void {
    if (outcome.state !== 'pending') {
      if (this.endpoint?.isOrdered === true && resource !== null) this.mustRead = true;
      return;
    }
    const inMs = this.crew.msUntil(outcome.dueAtMs);
    if (inMs <= this.crew.lingerMs) setTimeout(() => this.told(), inMs + 1).unref();
  }

  private turnIn(waitMs: number): Step {
    const atMs = performance.now() + waitMs;
    if (atMs >= this.timerAtMs && this.timer !== undefined) return 'nothing';
    clearTimeout(this.timer);
    this.timerAtMs = atMs;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.timerAtMs = Infinity;
      this.crew.wantsTurn(this);
    }, Math.ceil(waitMs));
    this.timer.unref();
    return 'nothing';
  }
}
