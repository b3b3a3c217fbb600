/** How a lost store comes back: asked whether it answers, told what was counted without it, and put in charge again. */
import { METRICS } from '../platform/metrics.js';
import type { MonthLedger } from './usage/month-ledger.js';
import type { Degradation } from './degradation.js';
import type { LosableStore } from './model/counter-store.js';
import type { OutageEntry } from './model/outage-log.js';
import type { QuotaDecision } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';

/** How much of a log is handed in side by side. */
const REPLAYS_AT_ONCE = 200;

/** Recovery hands over to a store that answers again what this node did without it. */
export class Recovery {
  private underWay: Promise<void> | undefined;

  constructor(
    private readonly counters: LosableStore,
    private readonly degradation: Degradation,
    private readonly ledger: MonthLedger,
    /** Whether the store answers at all; rejects where it does not. */
    private readonly ask: () => Promise<unknown>,
  ) {}

  /**
   * Asks a lost store whether it is back, as often as its breaker allows; counts there what is left over. Never
   * rejects.
   */
  async probe(): Promise<void> {
    const { degradation } = this;
    if (degradation.isOver && !degradation.outage.isEmpty) this.start();
    if (degradation.isOver || !degradation.mayAsk()) return;
    await this.ask().then(
      () => this.start(),
      (error: unknown) => degradation.called(false, error),
    );
  }

  /** As `Degradation.refund`. */
  refund(subject: QuotaSubject, decision: QuotaDecision): number | undefined {
    return this.degradation.refund(subject, decision, this.counters.aheadMs);
  }

  /** Counts in the store what is left over, where it answers: for the end of the process. Never rejects. */
  async finish(): Promise<void> {
    if (!this.degradation.isOver) return;
    if (!this.degradation.outage.isEmpty) this.start();
    await this.underWay;
  }

  private start(): void {
    this.underWay ??= this.recover().finally(() => (this.underWay = undefined));
  }

  /**
   * The store answers again: what it may have counted without a response is refunded, what was admitted without it is
   * counted there, while this node goes on by itself; then, in one step with nothing left to count, the store decides
   * again. What the database is needed for, and cannot be had, is tried again later and keeps nobody from the store.
   * Never rejects.
   */
  private async recover(): Promise<void> {
    const { counters, degradation } = this;
    const errorsBefore = degradation.errors;
    const isSure = await counters.refundUnanswered().catch(() => false);
    if (isSure) await this.replayAll(errorsBefore);
    // The pause begins anew also where no call failed.
    if (degradation.errors > errorsBefore || counters.isUnsure) degradation.wait();
    else degradation.end();
  }

  private async replayAll(errorsBefore: number): Promise<void> {
    const { outage } = this.degradation;
    for (let entries = outage.take(); entries.length > 0; entries = outage.take()) {
      let waitsForDatabase = false;
      for (let at = 0; at < entries.length; at += REPLAYS_AT_ONCE) {
        const results = await Promise.allSettled(
          entries.slice(at, at + REPLAYS_AT_ONCE).map((entry) => this.replay(entry)),
        );
        if (this.degradation.errors > errorsBefore) {
          for (const entry of entries.slice(at + REPLAYS_AT_ONCE)) outage.restore(entry);
          return;
        }
        waitsForDatabase ||= results.some(({ status }) => status === 'rejected');
      }
      if (waitsForDatabase) return;
    }
  }

  private async replay(entry: OutageEntry): Promise<void> {
    const { subject } = entry;
    try {
      const seen = await this.counters.replay(entry);
      METRICS.quotaReplays.series('counted').inc();
      this.ledger.saw(subject, seen);
    } catch (error) {
      METRICS.quotaReplays.series('failed').inc();
      this.degradation.outage.restore(entry);
      throw error;
    }
  }
}
