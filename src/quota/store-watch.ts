/**
 * Asks Redis once a second whether it counts. Requests notice a lost one by themselves; a process that has none (at
 * night, or without the gateway role) would go on saying that all is well.
 */
import type { RedisClient } from '../stores/redis/connect.js';
import { PROBE_KEY, PROBE_MS } from '../stores/redis/keys.js';
import type { Degradation } from './degradation.js';
import type { Recovery } from './recovery.js';

const INTERVAL_MS = 1_000;
/**
 * So many questions in a row without a response. One may be this process's own fault: it stood still, and its timers
 * fired first.
 */
const FAILURES = 3;

/** StoreWatch asks the store once a second, and reports a lost one. */
export class StoreWatch {
  private failures = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly degradation: Pick<Degradation, 'isOver' | 'called'>,
    private readonly recovery: Pick<Recovery, 'probe'>,
    /** Rejects where it does not count. */
    private readonly ask: () => Promise<void>,
    private readonly intervalMs = INTERVAL_MS,
  ) {}

  start(): void {
    this.timer = setInterval(() => void this.look(), this.intervalMs);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** One question. Never rejects. */
  async look(): Promise<void> {
    // A lost one is asked whether it is back, as often as its breaker allows.
    void this.recovery.probe();
    if (!this.degradation.isOver) return;
    try {
      await this.ask();
      this.failures = 0;
    } catch (error) {
      this.failures += 1;
      if (this.failures < FAILURES) return;
      this.failures = 0;
      if (this.degradation.isOver) this.degradation.called(false, error);
    }
  }
}

/** Whether Redis takes counts: of one whose memory is full, or that may not write, a PING says nothing. */
export async function asksForWrite(client: RedisClient): Promise<void> {
  // In a Cluster the row would be in one shard, whose loss is no business of the accounts in the others.
  if (client.isCluster) await client.ping();
  else await client.set(PROBE_KEY, '', 'PX', PROBE_MS);
}
