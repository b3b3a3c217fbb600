/**
 * Checks once a second that the store can count. Requests detect the loss of the store themselves. A process without
 * requests, at night or without the gateway role, would not notice the loss.
 */
import type { RedisClient } from '../stores/redis/connect.js';
import { PROBE_KEY, PROBE_MS } from '../stores/redis/keys.js';
import type { Degradation } from './degradation.js';
import type { Recovery } from './recovery.js';

const INTERVAL_MS = 1_000;
/**
 * Number of consecutive failures that count as a loss. This process itself can cause a single failure. If its event
 * loop was blocked, timers can fire before the process reads the responses.
 */
const FAILURES = 3;

/** StoreWatch checks the store once a second, and reports a loss to `Degradation`. */
export class StoreWatch {
  private failures = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly degradation: Pick<Degradation, 'isOver' | 'onCallEnd'>,
    private readonly recovery: Pick<Recovery, 'probeIfDue'>,
    /** Probes the store. Rejects if the store cannot count. */
    private readonly probeStore: () => Promise<void>,
    private readonly intervalMs = INTERVAL_MS,
  ) {}

  start(): void {
    this.timer = setInterval(() => void this.checkStore(), this.intervalMs);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Checks the store once, and probes a store that is lost. Never rejects. */
  async checkStore(): Promise<void> {
    // Probe a lost store as often as its breaker allows.
    void this.recovery.probeIfDue();
    if (!this.degradation.isOver) return;
    try {
      await this.probeStore();
      this.failures = 0;
    } catch (error) {
      this.failures += 1;
      if (this.failures < FAILURES) return;
      this.failures = 0;
      if (this.degradation.isOver) this.degradation.onCallEnd(false, error);
    }
  }
}

/**
 * Checks that Redis accepts writes. PING is not enough, because Redis responds to PING even if its memory is full or it
 * is read-only.
 */
export async function probeWrite(client: RedisClient): Promise<void> {
  // In a Cluster, the key would be on one shard, and its loss would not affect accounts on other shards.
  if (client.isCluster) await client.ping();
  else await client.set(PROBE_KEY, '', 'PX', PROBE_MS);
}
