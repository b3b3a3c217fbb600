/** When each key was last used, to the minute, written in batches off the request path. */
import type { Logger } from '../platform/log.js';
import { Pace } from '../platform/pace.js';
import type { CachedKey } from './cached-key.js';

/** A key in steady use is noted once in this time. */
const GRAIN_MS = 60_000;
const FLUSH_INTERVAL_MS = 10_000;
/**
 * Into so many batches, none of them smaller than that, a flush by the clock is divided;
 * and over so much time they are spread.
 */
const STEPS = 50;
const SMALL_BATCH_KEYS = 100;
const SPREAD_MS = FLUSH_INTERVAL_MS / 2;
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
  private flushing: Promise<void> | undefined;
  private pace = new Pace(0);

  constructor(
    private readonly sink: LastUsedSink,
    private readonly log: Logger,
  ) {}

  /** Notes a use. On the request path: one comparison for a key in steady use. */
  note(key: CachedKey, nowMs: number): void {
    if (nowMs - key.useNotedAtMs < GRAIN_MS && nowMs >= key.useNotedAtMs) return;
    key.useNotedAtMs = nowMs;
    if (this.waiting.size < MOST_WAITING) this.waiting.set(key.record.keyId, nowMs);
  }

  start(): void {
    this.timer = setInterval(() => void this.flush(SPREAD_MS), FLUSH_INTERVAL_MS);
    this.timer.unref();
  }

  /** Stops, and writes what waits. Never rejects: a lost time of use is no reason to fail a shutdown. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.pace.hurry();
    await this.flushing;
    await this.flush(0);
  }

  private flush(spanMs: number): Promise<void> {
    this.flushing ??= this.write((this.pace = new Pace(spanMs))).finally(() => (this.flushing = undefined));
    return this.flushing;
  }

  private async write(pace: Pace): Promise<void> {
    const left = this.waiting;
    const total = left.size;
    if (total === 0) return;
    this.waiting = new Map();
    try {
      for (let size = Math.max(SMALL_BATCH_KEYS, Math.ceil(total / STEPS)); left.size > 0;) {
        const batch = new Map(first(left, size));
        await this.sink.touchLastUsed(batch);
        for (const keyId of batch.keys()) left.delete(keyId);
        if (left.size > 0) await pace.reach(1 - left.size / total);
      }
    } catch (error) {
      for (const [keyId, usedAtMs] of left) if (!this.waiting.has(keyId)) this.waiting.set(keyId, usedAtMs);
      this.log.warn({ event: 'last_used_flush_failed', keys: left.size, err: error }, 'last_used_at was not written');
    }
  }
}

function* first<Key, Value>(map: ReadonlyMap<Key, Value>, most: number): Generator<[Key, Value]> {
  let taken = 0;
  for (const entry of map) {
    if (taken++ === most) return;
    yield entry;
  }
}
