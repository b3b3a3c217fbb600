/** What the counting process keeps, all of it in memory. */
import { LRUCache } from 'lru-cache';
import { IdleReaper } from '../process/idle-reaper.js';
import { RingPool } from '../../platform/ring-pool.js';
import type { SlidingWindow } from '../../platform/sliding-window.js';
import type { CalendarCount } from '../model/calendar-count.js';
import type { PeriodLabels } from '../model/counter.js';
import { AwaitedNodes } from './awaited-nodes.js';
import { StoredCounter } from './stored-counter.js';

/** Entries of each table that one look goes through: well under a millisecond. */
const SWEPT_AT_ONCE = 5_000;
/** Most throttles that are remembered at once, as in a process; the one that was quiet longest is forgotten first. */
const MOST_THROTTLES = 10_000;

/**
 * Longest that it is remembered that an outage was handed in: many times what a worker of this machine takes to try
 * again. In Redis, which nodes may be cut off from, it is a day (`REPLAY_MARKER_MS`).
 */
const REPLAYED_MS = 3_600_000;

/** What is forgotten at an instant, ms. */
interface Expiring {
  expiresAtMs: number;
}

/** The last batch of decisions of a node, and what it admitted. */
export interface BatchMarker extends Expiring {
  /** Undefined: it has been refunded. */
  batch: { readonly number: string; readonly second: number; readonly admitted: readonly number[] } | undefined;
}

/** ExpiringTable forgets entries when their time is over. */
export class ExpiringTable<Value extends Expiring> {
  private readonly values = new Map<string, Value>();
  private readonly reaper = new IdleReaper(this.values);

  /**
   * @param forgotten called for each that is forgotten.
   * @param kept called now and then for each that is not.
   */
  constructor(
    private readonly nowMs: () => number,
    private readonly forgotten: (value: Value) => void = () => {},
    private readonly kept: (value: Value, nowMs: number) => void = () => {},
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
    this.forgotten(value);
  }

  /** Forgets some of those whose time is over. */
  sweep(): void {
    const nowMs = this.nowMs();
    this.reaper.run(SWEPT_AT_ONCE, (value) => {
      const isOver = value.expiresAtMs <= nowMs;
      if (isOver) this.forgotten(value);
      else this.kept(value, nowMs);
      return isOver;
    });
  }
}

/** CountingTables is everything that is counted, and what says that something was. */
export class CountingTables {
  readonly counters: ExpiringTable<StoredCounter>;
  readonly markers: ExpiringTable<BatchMarker>;
  /** Outages whose counts have been added. */
  private readonly replays: ExpiringTable<Expiring>;
  readonly throttles = new LRUCache<string, SlidingWindow>({ max: MOST_THROTTLES });
  /** Nodes, by when they were last heard, ms. */
  readonly nodes = new Map<string, number>();
  /** By what nodes tell these from the tables of another process; undefined until one of them is heard. */
  epoch: number | undefined;
  private readonly rings = new RingPool();

  /**
   * @param nowMs the clock that things are forgotten by.
   * @param awaited what decisions wait for.
   */
  constructor(
    readonly nowMs: () => number = Date.now,
    readonly awaited = new AwaitedNodes(),
  ) {
    this.counters = new ExpiringTable(
      nowMs,
      (counter) => counter.release(),
      (counter, ms) => counter.grow(Math.floor(ms / 1_000)),
    );
    this.markers = new ExpiringTable(nowMs);
    this.replays = new ExpiringTable(nowMs);
  }

  /** A counter, brought to a second; undefined where there is none. */
  counter(name: string, second: number): StoredCounter | undefined {
    const counter = this.counters.get(name);
    counter?.slideTo(second);
    return counter;
  }

  /** A new counter. */
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

  /** Notes that an outage was handed in. @returns whether that was known. */
  wasReplayed(marker: string, lifeMs: number): boolean {
    if (this.replays.get(marker) !== undefined) return true;
    this.replays.set(marker, { expiresAtMs: this.nowMs() + Math.min(lifeMs, REPLAYED_MS) });
    return false;
  }

  /** How many of each there are. */
  get size(): { readonly counters: number; readonly markers: number; readonly replays: number } {
    return { counters: this.counters.size, markers: this.markers.size, replays: this.replays.size };
  }

  /** Forgets some of what is over: to be called every second. */
  sweep(): void {
    for (const table of [this.counters, this.markers, this.replays]) table.sweep();
  }
}
