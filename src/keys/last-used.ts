/** When each secret of a key was last used, to the minute, and from where; written in batches off the request path. */
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

/** A use of a key, by the secret that was sent. */
export interface SecretUse {
  /** Of the secret, as `digestOf` gives it. */
  readonly hash: string;
  readonly keyId: string;
  readonly usedAtMs: number;
  readonly address: string;
}

/** Where uses are written. */
export interface LastUsedSink {
  /** Writes the last use of each secret, and of its key. Must not move a time backwards. */
  touchLastUsed(batch: readonly SecretUse[]): Promise<void>;
}

export class LastUsed {
  /** By the hash of the secret: in an overlap a key has two, and which of them is used is what its owner asks. */
  private waiting = new Map<string, SecretUse>();
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;
  private pace = new Pace(0);

  constructor(
    private readonly sink: LastUsedSink,
    private readonly log: Logger,
  ) {}

  /** Notes a use. On the request path: one comparison for a key in steady use. */
  note(key: CachedKey, nowMs: number, address: string): void {
    if (nowMs - key.useNotedAtMs < GRAIN_MS && nowMs >= key.useNotedAtMs) return;
    key.useNotedAtMs = nowMs;
    if (this.waiting.size >= MOST_WAITING) return;
    const { hash, keyId } = key.record;
    this.waiting.set(hash, { hash, keyId, usedAtMs: nowMs, address });
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
        const batch = [...first(left.values(), size)];
        await this.sink.touchLastUsed(batch);
        for (const { hash } of batch) left.delete(hash);
        if (left.size > 0) await pace.reach(1 - left.size / total);
      }
    } catch (error) {
      for (const [hash, use] of left) if (!this.waiting.has(hash)) this.waiting.set(hash, use);
      this.log.warn({ event: 'last_used_flush_failed', keys: left.size, err: error }, 'last_used_at was not written');
    }
  }
}

function* first<T>(items: Iterable<T>, most: number): Generator<T> {
  let taken = 0;
  for (const item of items) {
    if (taken++ === most) return;
    yield item;
  }
}
