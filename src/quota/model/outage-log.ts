/**
 * Requests that this node admitted and refunded while the shared counters were away: kept per key and day, second by second,
 * until it has been counted there. Bounded by the keys in use and the sixty seconds that still matter; lost with the
 * process.
 */
import { randomUUID } from 'node:crypto';
import type { MonthPeriod } from './month-period.js';
import { MINUTE_BUCKETS } from '../../platform/sliding-window.js';
import type { QuotaSubject } from './subject.js';

/** Admitted requests of one key in one day. */
export interface OutageEntry {
  /** Unique over all nodes and outages: counting it twice is refused by this name. */
  readonly id: string;
  readonly subject: QuotaSubject;
  readonly period: MonthPeriod;
  /** Cost of all of them, less what was refunded. */
  used: number;
  /** Cost by the second of this node's clock, of the last minute. */
  readonly seconds: Map<number, number>;
}

/** OutageLog keeps what was admitted without the store until it has been counted there. */
export class OutageLog {
  private entries = new Map<string, OutageEntry>();
  /** Handed in without a response: perhaps counted, so nothing may be added to them. */
  private unsure: OutageEntry[] = [];

  get isEmpty(): boolean {
    return this.entries.size === 0 && this.unsure.length === 0;
  }

  /** Whether something of the subject waits that can still be changed. */
  holds(subject: QuotaSubject, period: MonthPeriod): boolean {
    return this.entries.has(nameOf(subject, period));
  }

  /** Notes a cost that was admitted without the store; one below zero was refunded. `nowMs` is by this node's clock. */
  note(subject: QuotaSubject, cost: number, nowMs: number, period: MonthPeriod): void {
    if (cost === 0) return;
    const second = Math.floor(nowMs / 1_000);
    const entry = this.entryOf(subject, period);
    entry.used += cost;
    entry.seconds.set(second, (entry.seconds.get(second) ?? 0) + cost);
    for (const old of entry.seconds.keys()) {
      // In the order of insertion: the first one that still matters ends it.
      if (old > second - MINUTE_BUCKETS) break;
      entry.seconds.delete(old);
    }
  }

  /** Hands out everything that is noted, and forgets it. */
  take(): OutageEntry[] {
    const taken = [...this.unsure, ...this.entries.values()];
    this.unsure = [];
    this.entries = new Map();
    return taken;
  }

  /**
   * Takes an entry back that may not have been counted, to be handed out again as it is: the store knows it by its id.
   */
  restore(entry: OutageEntry): void {
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
