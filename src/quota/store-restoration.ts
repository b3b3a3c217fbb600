/**
 * Detects that Redis was emptied (or replaced by an empty Redis), and reports this node's counts to it. The report
 * includes keys without current requests, and counts that only this node has seen. Counts that cannot be reported are
 * kept for the next attempt.
 */
import type { Logger } from '../platform/log.js';
import type { CounterMemory } from './model/counter-memory.js';
import { LONGEST_SEED_MS } from './redis/counter-seeds.js';
import type { MonthLedger } from './usage/month-ledger.js';
import type { HeartbeatResult, NodeCount } from './redis/node-count.js';
import type { RedisCounters } from './redis/redis-counters.js';
import type { QuotaSubject } from './model/subject.js';

/** StoreRestoration detects that the store was emptied, and restores the counts that this node knows. */
export class StoreRestoration {
  /** When `MonthLedger.forgetWritten` was last called, by `performance.now()`. */
  private lastForgottenMs = -Infinity;
  /** Subjects that have not been reported yet. */
  private unreported = new Set<QuotaSubject>();
  private restoring: Promise<void> | undefined;

  constructor(
    private readonly nodes: Pick<NodeCount, 'sendHeartbeat' | 'isAwaited'>,
    private readonly counters: Pick<RedisCounters, 'restore'>,
    private readonly ledger: MonthLedger,
    private readonly memory: CounterMemory,
    private readonly log: Logger,
    /** Name of the store in the log. */
    private readonly storeName = 'Redis',
  ) {}

  /**
   * Sends a heartbeat. If the store was emptied, reports the counts that this node knows. Subjects that cannot be
   * reported now are reported at the next call. Never rejects.
   */
  async checkStore(): Promise<void> {
    const sentMs = performance.now();
    const result = await this.nodes.sendHeartbeat();
    if (result === undefined) return;
    if (result.isLoss) {
      this.onLoss(result);
      // Reports in flight may have arrived before the store was emptied. Wait for these reports before reporting again.
      await this.restoring;
    }
    if (this.unreported.size > 0) await (this.restoring ??= this.restore().finally(() => (this.restoring = undefined)));
    const isReported = this.unreported.size === 0 && this.restoring === undefined;
    if (isReported && this.nodes.isAwaited) {
      // Tell the counting process that this node's report is complete.
      const second = await this.nodes.sendHeartbeat(result.epoch);
      if (second?.isLoss === true) this.onLoss(second);
    }
    if (result.isLoss || this.unreported.size > 0) return;
    this.memory.forgetNewAccounts(sentMs);
    if (sentMs - this.lastForgottenMs < LONGEST_SEED_MS) return;
    this.lastForgottenMs = sentMs;
    this.ledger.forgetWritten();
  }

  private onLoss({ isEmptied }: HeartbeatResult): void {
    const what = isEmptied ? 'was emptied' : 'may have been emptied while this process had no contact';
    this.log.warn({ event: 'quota_store_emptied' }, `${this.storeName} ${what}: restoring its counts`);
    this.memory.markAllLost();
    for (const subject of this.ledger.allRecentSubjects()) this.unreported.add(subject);
  }

  /** Reports the unreported subjects. Subjects that could not be reported stay unreported. */
  private async restore(): Promise<void> {
    const subjects = this.unreported;
    this.unreported = new Set();
    for (const subject of await this.counters.restore(subjects)) this.unreported.add(subject);
  }
}
