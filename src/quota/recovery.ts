/**
 * Recovers from the loss of a store. Probes the store, replays the requests that were admitted without it, and lets the
 * store decide again.
 */
import { METRICS } from '../platform/metrics.js';
import type { MonthLedger } from './usage/month-ledger.js';
import type { Degradation } from './degradation.js';
import type { LosableStore } from './model/counter-store.js';
import type { OutageEntry } from './model/outage-log.js';
import type { QuotaDecision } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';

/** Number of log entries replayed in parallel. */
const REPLAYS_AT_ONCE = 200;

/** Recovery probes a lost store, and replays this node's outage log to it. */
export class Recovery {
  private running: Promise<void> | undefined;

  constructor(
    private readonly counters: LosableStore,
    private readonly degradation: Degradation,
    private readonly ledger: MonthLedger,
    /** Probes the store. Rejects if it does not respond. */
    private readonly probeStore: () => Promise<unknown>,
  ) {}

  /**
   * Probes a lost store as often as its breaker allows. If the store responds, starts the recovery. If the store is not
   * lost, replays remaining log entries. Never rejects.
   */
  async probeIfDue(): Promise<void> {
    const { degradation } = this;
    if (degradation.isOver && !degradation.outage.isEmpty) this.start();
    if (degradation.isOver || !degradation.mayProbe()) return;
    await this.probeStore().then(
      () => this.start(),
      (error: unknown) => degradation.onCallEnd(false, error),
    );
  }

  /**
   * Refunds a decision without the store, or returns undefined if the store must make the refund; see
   * `Degradation.refund`.
   */
  refund(subject: QuotaSubject, decision: QuotaDecision): number | undefined {
    return this.degradation.refund(subject, decision, this.counters.aheadMs);
  }

  /** Replays the remaining log entries if the store is not lost. Call it at shutdown. Never rejects. */
  async replayRemaining(): Promise<void> {
    if (!this.degradation.isOver) return;
    if (!this.degradation.outage.isEmpty) this.start();
    await this.running;
  }

  private start(): void {
    this.running ??= this.recover().finally(() => (this.running = undefined));
  }

  /**
   * Recovers from an outage. First refunds the calls that the store may have counted without a response. Then replays
   * the requests that were admitted without the store, while this node continues to decide. When the log is empty, the
   * store immediately makes the decisions again, so that no request is admitted without it in between. Entries that
   * need an unavailable database are retried later and do not delay the store. Never rejects.
   */
  private async recover(): Promise<void> {
    const { counters, degradation } = this;
    const errorsBefore = degradation.errors;
    const areRefunded = await counters.refundUnanswered().catch(() => false);
    if (areRefunded) await this.replayAll(errorsBefore);
    // Restart the pause also if no call failed, but calls with an unknown result remain.
    if (degradation.errors > errorsBefore || counters.isUnsure) degradation.restartPause();
    else degradation.endOutage();
  }

  /**
   * Replays the log until it is empty. Stops if a call to the store fails, or if entries need an unavailable database.
   */
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

  /** Replays one entry. If that fails, puts the entry back and rejects. */
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
