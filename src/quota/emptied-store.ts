/**
 * Detects that Redis was emptied, and reports what this node knows. This includes keys without requests, and counts
 * that this node was the last to see.
 */
import type { Logger } from '../platform/log.js';
import type { CounterMemory } from './model/counter-memory.js';
import { LONGEST_SEED_MS } from './redis/counter-seeds.js';
import type { MonthLedger } from './usage/month-ledger.js';
import type { HeartbeatResult, NodeCount } from './redis/node-count.js';
import type { RedisCounters } from './redis/redis-counters.js';
import type { QuotaSubject } from './model/subject.js';

/** EmptiedStore detects that Redis was emptied, and restores what this node knows. */
export class EmptiedStore {
  private forgottenMs = -Infinity;
  /** Subjects that have not been reported yet. */
  private left = new Set<QuotaSubject>();
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

  /** Sends a heartbeat. Resolves when what this node knows has been reported, as far as possible. Never rejects. */
  async checkStore(): Promise<void> {
    const askedMs = performance.now();
    const heard = await this.nodes.sendHeartbeat();
    if (heard === undefined) return;
    if (heard.isLoss) {
      this.onLoss(heard);
      // Running reports may have arrived before the store was emptied. Wait, then report again.
      await this.restoring;
    }
    if (this.left.size > 0) await (this.restoring ??= this.restore().finally(() => (this.restoring = undefined)));
    const isWhole = this.left.size === 0 && this.restoring === undefined;
    if (isWhole && this.nodes.isAwaited) {
      const after = await this.nodes.sendHeartbeat(heard.epoch);
      if (after?.isLoss === true) this.onLoss(after);
    }
    if (heard.isLoss || this.left.size > 0) return;
    this.memory.forgetNewAccounts(askedMs);
    if (askedMs - this.forgottenMs < LONGEST_SEED_MS) return;
    this.forgottenMs = askedMs;
    this.ledger.forgetWritten();
  }

  private onLoss({ isEmptied }: HeartbeatResult): void {
    const what = isEmptied ? 'was emptied' : 'may have been emptied while this process had no contact';
    this.log.warn({ event: 'quota_store_emptied' }, `${this.storeName} ${what}: restoring its counts`);
    this.memory.markAllLost();
    for (const subject of this.ledger.allRecentSubjects()) this.left.add(subject);
  }

  private async restore(): Promise<void> {
    const subjects = this.left;
    this.left = new Set();
    for (const subject of await this.counters.restore(subjects)) this.left.add(subject);
  }
}
