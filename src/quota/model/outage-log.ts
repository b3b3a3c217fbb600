/**
 * Requests that this node admitted and refunded while the shared counters were away. They are kept per key and day,
 * second by second, until the store has counted them. The log is bounded by the keys in use and one minute of seconds.
 * It is lost with the process.
 */
import { randomUUID } from 'node:crypto';
import type { MonthPeriod } from './month-period.js';
import { MINUTE_BUCKETS } from '../../platform/sliding-window.js';
import type { QuotaSubject } from './subject.js';

/** OutageEntry holds the admitted requests of one key on one day. */
export interface OutageEntry {
  /** Unique across all nodes and outages. The store uses it to count an entry only once. */
  readonly id: string;
  readonly subject: QuotaSubject;
  readonly period: MonthPeriod;
  /** Cost of all requests, less refunds. */
  used: number;
  /** Cost per second of this node's clock, for the last minute. */
  readonly seconds: Map<number, number>;
}

/** OutageLog keeps requests admitted without the store until the store has counted them. */
export class OutageLog {
  private entries = new Map<string, OutageEntry>();
  /** Entries that were sent without a response. They may have been counted, so nothing may be added to them. */
  private unsure: OutageEntry[] = [];

  get isEmpty(): boolean {
    return this.entries.size === 0 && this.unsure.length === 0;
  }

  /** Reports whether the subject has a waiting entry that can still be changed. */
  hasEntry(subject: QuotaSubject, period: MonthPeriod): boolean {
    return this.entries.has(nameOf(subject, period));
  }

  /**
   * Records a cost that was admitted without the store. Negative costs are refunds.
   * @param nowMs time by this node's clock.
   */
  recordCost(subject: QuotaSubject, cost: number, nowMs: number, period: MonthPeriod): void {
    if (cost === 0) return;
    const second = Math.floor(nowMs / 1_000);
    const entry = this.entryOf(subject, period);
    entry.used += cost;
    entry.seconds.set(second, (entry.seconds.get(second) ?? 0) + cost);
    for (const old of entry.seconds.keys()) {
      // Seconds are in the order of insertion: stop at the first one that still matters.
      if (old > second - MINUTE_BUCKETS) break;
      entry.seconds.delete(old);
    }
  }

  /** Returns all entries and removes them from the log. */
  takeAll(): OutageEntry[] {
    const taken = [...this.unsure, ...this.entries.values()];
    this.unsure = [];
    this.entries = new Map();
    return taken;
  }

  /** Puts an entry back whose result is unknown. It is sent again unchanged, because the store knows it by its ID. */
  putBack(entry: OutageEntry): void {
    this.unsure.push(entry);
  }

  private entryOf(subject: QuotaSubject, period: MonthPeriod): OutageEntry {
    const name = nameOf(subject, period);
    let entry = this.entries.get(name);
    if (entry === undefined) {
      entry = { id: randomUUID(), subject, period, used: 0, seconds: new Map() };
      this.entries.set(name, entry);
    }
    return entry;
  }
}

function nameOf({ keyId }: QuotaSubject, { label, day }: MonthPeriod): string {
  return `${keyId}/${label}/${day.label}`;
}
