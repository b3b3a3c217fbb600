/**
 * Logs the requests that this node admitted and refunded while the shared counters were unavailable. The log keeps
 * costs per key and day, by second, until the store has counted them. The size of the log depends on the number of keys
 * in use. Each entry has the seconds of one minute. The log is lost when the process dies.
 */
import { randomUUID } from 'node:crypto';
import type { MonthPeriod } from './month-period.js';
import { MINUTE_BUCKETS } from '../../platform/sliding-window.js';
import type { QuotaSubject } from './subject.js';

/** OutageEntry holds the cost of one key's requests that were admitted on one day without the store. */
export interface OutageEntry {
  /** Unique across all nodes and outages. The store uses the ID to count an entry only once. */
  readonly id: string;
  readonly subject: QuotaSubject;
  readonly period: MonthPeriod;
  /** Cost of all requests, minus refunds. */
  used: number;
  /** Cost by second of this node's clock, for the last minute. */
  readonly seconds: Map<number, number>;
}

/** OutageLog keeps requests admitted without the store until the store has counted them. */
export class OutageLog {
  private entries = new Map<string, OutageEntry>();
  /**
   * Entries whose replay failed or was not attempted. The store may have counted some of them, so they must not change.
   */
  private unsure: OutageEntry[] = [];

  get isEmpty(): boolean {
    return this.entries.size === 0 && this.unsure.length === 0;
  }

  /** Reports whether the subject has an entry of this day that can still be changed. */
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
      // Map keys are in the order of insertion. Stop at the first second that is still in the window.
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

  /**
   * Puts back an entry whose replay failed or was not attempted. The next replay sends the entry unchanged, because the
   * store may have counted it and recognizes its ID.
   */
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
