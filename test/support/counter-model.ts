/**
 * A reference model of quotas for comparison with the real counters. It lists all admitted requests and recounts them
 * for every question, which is slow but easy to check against `src/quota/model/policies.ts`. In the minute window, a
 * request counts in its own second and in the 60 seconds that follow.
 */
import { perWindow, WINDOWS } from '../../src/platform/quotas/windows.js';
import { monthPeriodAt } from '../../src/quota/model/month-period.js';
import type { QuotaCounts, QuotaLimits } from '../../src/quota/model/policies.js';

const SECONDS_COUNTED = 61;

/** One admitted request. */
export interface Admitted {
  readonly keyId: string;
  readonly atMs: number;
  readonly cost: number;
}

/** Results that every counter store must return. */
export interface Expected {
  readonly admitted: boolean;
  readonly used: Readonly<QuotaCounts>;
  readonly violated: number;
  readonly keyMinuteResetMs: number;
  readonly accountMinuteResetMs: number;
  readonly retryAtMs: number;
}

const second = (ms: number): number => Math.floor(ms / 1_000);
const total = (entries: readonly Admitted[]): number => entries.reduce((sum, { cost }) => sum + cost, 0);

/** CounterModel models one account with its keys. */
export class CounterModel {
  private readonly entries = new Set<Admitted>();
  /** The last `setMonth` of each key. The key '' holds the account's. */
  private readonly sets = new Map<string, { readonly used: number; readonly atMs: number }>();

  /** Decides a request, and records it if it is admitted. */
  decide(keyId: string, limits: QuotaLimits, cost: number, nowMs: number): { entry?: Admitted; expected: Expected } {
    const before = this.used(keyId, nowMs);
    const violated = WINDOWS.reduce(
      (bits, _, index) => (cost > 0 && before[index]! + cost > limits[index]! ? bits | (1 << index) : bits),
      0,
    );
    const admitted = violated === 0;
    const entry = { keyId, atMs: nowMs, cost };
    if (admitted && cost > 0) this.entries.add(entry);
    const expected = {
      admitted,
      used: this.used(keyId, nowMs),
      violated,
      ...this.resets(keyId, nowMs),
      retryAtMs: admitted ? 0 : this.retryAtMs(keyId, limits, cost, nowMs, violated),
    };
    return admitted ? { entry, expected } : { expected };
  }

  refund(entry: Admitted): void {
    this.entries.delete(entry);
  }

  /**
   * Sets the usage of the current month. No request may happen in the same millisecond.
   * @param keyId key to set the usage of; undefined for the account
   */
  setMonth(keyId: string | undefined, used: number, nowMs: number): void {
    this.sets.set(keyId ?? '', { used, atMs: nowMs });
  }

  used(keyId: string, nowMs: number): Readonly<QuotaCounts> {
    return perWindow(({ of, period, kind }) => {
      const counted = of === 'key' ? keyId : undefined;
      if (kind === 'sliding') return total(this.inMinute(counted, nowMs));
      const entries = [...this.entries].filter((entry) => counted === undefined || entry.keyId === counted);
      if (period === 'month') return this.inMonth(counted ?? '', entries, nowMs);
      const { startMs, endMs } = monthPeriodAt(nowMs).day;
      return total(entries.filter(({ atMs }) => atMs >= startMs && atMs < endMs));
    });
  }

  /** Returns the usage in the month of `nowMs`: the value set by `setMonth`, if any, plus the requests since. */
  private inMonth(name: string, entries: readonly Admitted[], nowMs: number): number {
    const { startMs, endMs } = monthPeriodAt(nowMs);
    const set = this.sets.get(name);
    const isSet = set !== undefined && set.atMs >= startMs && set.atMs < endMs;
    const from = isSet ? set.atMs : startMs;
    return (isSet ? set.used : 0) + total(entries.filter(({ atMs }) => atMs >= from && atMs < endMs));
  }

  resets(keyId: string, nowMs: number): Pick<Expected, 'keyMinuteResetMs' | 'accountMinuteResetMs'> {
    const resetOf = (entries: readonly Admitted[]): number =>
      entries.length === 0 ? 0 : (Math.min(...entries.map(({ atMs }) => second(atMs))) + SECONDS_COUNTED) * 1_000;
    return {
      keyMinuteResetMs: resetOf(this.inMinute(keyId, nowMs)),
      accountMinuteResetMs: resetOf(this.inMinute(undefined, nowMs)),
    };
  }

  /** Returns the requests that count in the minute window at `nowMs`, for one key, or for all keys if undefined. */
  private inMinute(keyId: string | undefined, nowMs: number): Admitted[] {
    return [...this.entries].filter(
      (entry) => (keyId === undefined || entry.keyId === keyId) && second(entry.atMs) > second(nowMs) - SECONDS_COUNTED,
    );
  }

  /** Finds the earliest time at which the request would be admitted, by trying each second. */
  private retryAtMs(keyId: string, limits: QuotaLimits, cost: number, nowMs: number, violated: number): number {
    const isViolated = (index: number): boolean => (violated & (1 << index)) !== 0;
    const minutes = WINDOWS.flatMap(({ of, kind }, index) =>
      kind === 'sliding' && isViolated(index) ? [{ of: of === 'key' ? keyId : undefined, limit: limits[index]! }] : [],
    );
    const instants = minutes.map(({ of, limit }) => {
      let at = second(nowMs);
      // If the cost exceeds the limit itself, the result is the time when the minute is empty.
      while (at < second(nowMs) + SECONDS_COUNTED && total(this.inMinute(of, at * 1_000)) + cost > limit) at++;
      return at * 1_000;
    });
    const { endMs, day } = monthPeriodAt(nowMs);
    const ends = WINDOWS.flatMap(({ period, kind }, index) =>
      kind === 'calendar' && isViolated(index) ? [period === 'day' ? day.endMs : endMs] : [],
    );
    return Math.max(0, ...ends, ...instants);
  }
}
