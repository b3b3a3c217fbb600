/**
 * Holds the state of the counting process in memory only. When the process ends, the state is lost, and workers report
 * their counts to the next process.
 */
import { LRUCache } from 'lru-cache';
import { IdleReaper } from '../process/idle-reaper.js';
import { RingPool } from '../../platform/ring-pool.js';
import type { SlidingWindow } from '../../platform/sliding-window.js';
import type { CalendarCount } from '../model/calendar-count.js';
import type { PeriodLabels } from '../model/counter.js';
import { AwaitedNodes } from './awaited-nodes.js';
import { StoredCounter } from './stored-counter.js';

/** Maximum number of entries per table that one sweep checks. Checking this number takes well under a millisecond. */
const SWEPT_AT_ONCE = 5_000;
/** Maximum number of remembered throttle windows. Beyond it, the least recently used window is forgotten. */
const MAX_THROTTLES = 10_000;

/**
 * How long replayed outages are remembered, in ms. A worker on this machine repeats a replay much sooner. Redis
 * remembers replays for a day (`REPLAY_MARKER_MS`), because nodes can be disconnected from Redis for longer.
 */
const REPLAYED_MS = 3_600_000;

/** Expiring is an entry of a table that expires at an instant, in ms. */
interface Expiring {
  expiresAtMs: number;
}

/**
 * BatchMarker records the last batch of decisions of a node, and how many requests of each group the batch admitted.
 */
export interface BatchMarker extends Expiring {
  /** Undefined after the batch was refunded. */
  batch: { readonly number: string; readonly second: number; readonly admitted: readonly number[] } | undefined;
}

/** ExpiringTable removes entries when they expire. */
export class ExpiringTable<Value extends Expiring> {
  private readonly values = new Map<string, Value>();
  private readonly reaper = new IdleReaper(this.values);

  /**
   * Creates a table.
   * @param onRemoved receives each removed entry.
   * @param onKept receives each entry that a sweep has checked and kept.
   */
  constructor(
    private readonly nowMs: () => number,
    private readonly onRemoved: (value: Value) => void = () => {},
    private readonly onKept: (value: Value, nowMs: number) => void = () => {},
  ) {}

  get size(): number {
    return this.values.size;
  }

  get(name: string): Value | undefined {
    const value = this.values.get(name);
    if (value === undefined || value.expiresAtMs > this.nowMs()) return value;
    this.delete(name);
    return undefined;
  }

  set(name: string, value: Value): Value {
    this.values.set(name, value);
    return value;
  }

  delete(name: string): void {
    const value = this.values.get(name);
    if (value === undefined) return;
    this.values.delete(name);
    this.onRemoved(value);
  }

  /** Removes some of the expired entries. */
  sweep(): void {
    const nowMs = this.nowMs();
    this.reaper.run(SWEPT_AT_ONCE, (value) => {
      const isOver = value.expiresAtMs <= nowMs;
      if (isOver) this.onRemoved(value);
      else this.onKept(value, nowMs);
      return isOver;
    });
  }
}

/** CountingTables holds all counters, the markers of counted batches and replays, and the known nodes. */
export class CountingTables {
  readonly counters: ExpiringTable<StoredCounter>;
  readonly markers: ExpiringTable<BatchMarker>;
  /** Markers of outage entries that have been replayed. */
  private readonly replays: ExpiringTable<Expiring>;
  readonly throttles = new LRUCache<string, SlidingWindow>({ max: MAX_THROTTLES });
  /** Nodes with the time of their last heartbeat, ms. */
  readonly nodes = new Map<string, number>();
  /**
   * Identifies these tables. The tables of another process have another epoch. Undefined before the first heartbeat.
   */
  epoch: number | undefined;
  private readonly rings = new RingPool();

  /**
   * Creates empty tables.
   * @param nowMs the clock by which entries expire.
   * @param awaited the nodes that decisions wait for.
   */
  constructor(
    readonly nowMs: () => number = Date.now,
    readonly awaited = new AwaitedNodes(),
  ) {
    this.counters = new ExpiringTable(
      nowMs,
      (counter) => counter.release(),
      (counter, ms) => counter.endYouthIfOver(Math.floor(ms / 1_000)),
    );
    this.markers = new ExpiringTable(nowMs);
    this.replays = new ExpiringTable(nowMs);
  }

  /** Returns a counter with its minute advanced to a second. Returns undefined if no counter has this name. */
  counter(name: string, second: number): StoredCounter | undefined {
    const counter = this.counters.get(name);
    counter?.slideTo(second);
    return counter;
  }

  /** Creates a counter. Replaces an existing counter with the same name. */
  create(
    name: string,
    second: number,
    period: Omit<PeriodLabels, 'following'>,
    counted: CalendarCount,
    expiresAtMs: number,
  ): StoredCounter {
    const counter = this.counters.set(name, new StoredCounter(this.rings, period, counted, expiresAtMs));
    counter.slideTo(second);
    return counter;
  }

  /**
   * Records that an outage entry was replayed, unless that was recorded before.
   * @returns whether the replay was recorded before.
   */
  wasReplayed(marker: string, lifeMs: number): boolean {
    if (this.replays.get(marker) !== undefined) return true;
    this.replays.set(marker, { expiresAtMs: this.nowMs() + Math.min(lifeMs, REPLAYED_MS) });
    return false;
  }

  /** Number of entries by table. */
  get size(): { readonly counters: number; readonly markers: number; readonly replays: number } {
    return { counters: this.counters.size, markers: this.markers.size, replays: this.replays.size };
  }

  /** Removes some of the expired entries. Call it every second. */
  sweep(): void {
    for (const table of [this.counters, this.markers, this.replays]) table.sweep();
  }
}
