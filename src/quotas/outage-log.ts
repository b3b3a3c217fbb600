/**
 * What this node admitted while the shared counters were away: kept per key and month, second by second, until it has been
 * counted there. Bounded by the keys in use and the sixty seconds that still matter; lost with the process.
 */
import { randomUUID } from 'node:crypto';
import type { MonthPeriod } from './month-period.js';
import { MINUTE_BUCKETS, type QuotaDecision, type QuotaSubject } from './policies.js';

/** Admitted requests of one key in one month. */
export interface OutageEntry {
  /** Unique over all nodes and outages: counting it twice is refused by this name. */
  readonly id: string;
  readonly subject: QuotaSubject;
  readonly period: MonthPeriod;
  /** Cost of all of them. */
  used: number;
  /** Cost by the second of this node's clock, of the last minute. */
  readonly seconds: Map<number, number>;
}

export class OutageLog {
  private entries = new Map<string, OutageEntry>();

  get isEmpty(): boolean {
    return this.entries.size === 0;
  }

  /** Notes a decision that was admitted without the store. */
  note(subject: QuotaSubject, { cost, nowMs, period }: QuotaDecision): void {
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

  /** Takes a decision back. False where its entry has been counted in the store meanwhile: then it must be taken back there. */
  takeBack(subject: QuotaSubject, { cost, nowMs, period }: QuotaDecision): boolean {
    const entry = this.entries.get(nameOf(subject, period));
    if (entry === undefined) return false;
    const second = Math.floor(nowMs / 1_000);
    entry.used = Math.max(0, entry.used - cost);
    const held = entry.seconds.get(second);
    if (held !== undefined) entry.seconds.set(second, Math.max(0, held - cost));
    return true;
  }

  /** Hands out everything that is noted, and forgets it. */
  take(): OutageEntry[] {
    const taken = [...this.entries.values()];
    this.entries = new Map();
    return taken;
  }

  /** Takes an entry back that could not be counted; what came in meanwhile stays an entry of its own. */
  restore(entry: OutageEntry): void {
    const name = nameOf(entry.subject, entry.period);
    // Its id must stay: the store may have counted it although no answer came.
    this.entries.set(this.entries.has(name) ? `${name}/${entry.id}` : name, entry);
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

function nameOf({ keyId }: QuotaSubject, { label }: MonthPeriod): string {
  return `${keyId}/${label}`;
}
