/** Recovery of a lost store: probe it, replay what was counted without it, and let it decide again. */
import { METRICS } from '../platform/metrics.js';
import type { MonthLedger } from './usage/month-ledger.js';
import type { Degradation } from './degradation.js';
import type { LosableStore } from './model/counter-store.js';
import type { OutageEntry } from './model/outage-log.js';
import type { QuotaDecision } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';

/** Number of log entries replayed in parallel. */
const REPLAYS_AT_ONCE = 200;

/** Recovery replays what this node did during an outage to the store. */
export class Recovery {
  private underWay: Promise<void> | undefined;

  constructor(
    private readonly counters: LosableStore,
    private readonly degradation: Degradation,
    private readonly ledger: MonthLedger,
    /** Probes the store. Rejects if it does not respond. */
    private readonly ask: () => Promise<unknown>,
  ) {}

  /** Probes a lost store as often as its breaker allows, and replays what is left over. Never rejects. */
  async probe(): Promise<void> {
    const { degradation } = this;
    if (degradation.isOver && !degradation.outage.isEmpty) this.start();
    if (degradation.isOver || !degradation.mayProbe()) return;
    await this.ask().then(
      () => this.start(),
      (error: unknown) => degradation.onCallEnd(false, error),
    );
  }

  /** Refunds a decision without the store; see `Degradation.refund`. */
  refund(subject: QuotaSubject, decision: QuotaDecision): number | undefined {
    return this.degradation.refund(subject, decision, this.counters.aheadMs);
  }

  /** Replays what is left over, if the store responds. For the end of the process. Never rejects. */
  async finish(): Promise<void> {
    if (!this.degradation.isOver) return;
    if (!this.degradation.outage.isEmpty) this.start();
    await this.underWay;
  }

  private start(): void {
    this.underWay ??= this.recover().finally(() => (this.underWay = undefined));
  }

  /**
   * Recovers from an outage. First refunds what the store may have counted without a response. Then replays what was
   * admitted without it, while this node continues to decide. When nothing is left to replay, the store decides again
   * in the same step. Entries that need an unavailable database are retried later and do not delay the store. Never
   * rejects.
   */
  private async recover(): Promise<void> {
    const { counters, degradation } = this;
    const errorsBefore = degradation.errors;
    const isSure = await counters.refundUnanswered().catch(() => false);
    if (isSure) await this.replayAll(errorsBefore);
    // Restart the pause even if no call failed.
    if (degradation.errors > errorsBefore || counters.isUnsure) degradation.restartPause();
    else degradation.endOutage();
  }

  private async replayAll(errorsBefore: number): Promise<void> {
    const { outage } = this.degradation;
    for (let entries = outage.takeAll(); entries.length > 0; entries = outage.takeAll()) {
      let waitsForDatabase = false;
      for (let at = 0; at < entries.length; at += REPLAYS_AT_ONCE) {
        const results = await Promise.allSettled(
          entries.slice(at, at + REPLAYS_AT_ONCE).map((entry) => this.replay(entry)),
        );
        if (this.degradation.errors > errorsBefore) {
          for (const entry of entries.slice(at + REPLAYS_AT_ONCE)) outage.putBack(entry);
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
      this.ledger.recordSeen(subject, seen);
    } catch (error) {
      METRICS.quotaReplays.series('failed').inc();
      this.degradation.outage.putBack(entry);
      throw error;
    }
  }
}
