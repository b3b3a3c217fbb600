/** When each key was last used, to the minute, written in batches off the request path. */
import type { Logger } from '../log.js';
import type { KnownKey } from './known-key.js';

/** A key in steady use is noted once in this time. */
const GRAIN_MS = 60_000;
const FLUSH_INTERVAL_MS = 10_000;
/** Most keys that wait to be written; beyond, the newest are not noted (they will be, at their next use). */
const MOST_WAITING = 100_000;

/** Where the times are written. */
export interface LastUsedSink {
  /** Writes by key id the time of its last use, ms. Must not move a time backwards. */
  touchLastUsed(batch: ReadonlyMap<string, number>): Promise<void>;
}

export class LastUsed {
  private waiting = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly sink: LastUsedSink,
    private readonly log: Logger,
  ) {}

  /** Notes a use. On the request path: one comparison for a key in steady use. */
  note(key: KnownKey, nowMs: number): void {
    if (nowMs - key.useNotedAtMs < GRAIN_MS && nowMs >= key.useNotedAtMs) return;
    key.useNotedAtMs = nowMs;
    if (this.waiting.size < MOST_WAITING) this.waiting.set(key.record.keyId, nowMs);
  }

  start(): void {
    this.timer = setInterval(() => void this.flush(), FLUSH_INTERVAL_MS);
    this.timer.unref();
  }

  /** Stops, and writes what waits. Never rejects: a lost time of use is no reason to fail a shutdown. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flush();
  }

  private async flush(): Promise<void> {
    if (this.waiting.size === 0) return;
    const batch = this.waiting;
    this.waiting = new Map();
    try {
      await this.sink.touchLastUsed(batch);
    } catch (error) {
      for (const [keyId, usedAtMs] of batch) if (!this.waiting.has(keyId)) this.waiting.set(keyId, usedAtMs);
      this.log.warn({ event: 'last_used_flush_failed', keys: batch.size, err: error }, 'last_used_at was not written');
    }
  }
}
