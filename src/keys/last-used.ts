/**
 * Records the time and client address of the last use of each secret. Writes the uses in batches outside the request
 * path. If a write fails, the uses are written with the next batch.
 */
import type { Logger } from '../platform/log.js';
import { Pace } from '../platform/pace.js';
import type { CachedKey } from './cached-key.js';

/** Minimum time between two recorded uses of a secret. */
const MIN_INTERVAL_MS = 60_000;
const FLUSH_INTERVAL_MS = 10_000;
/**
 * Parameters of a periodic flush. It writes at most `STEPS` batches of at least `SMALL_BATCH_KEYS` secrets, spread over
 * `SPREAD_MS`.
 */
const STEPS = 50;
const SMALL_BATCH_KEYS = 100;
const SPREAD_MS = FLUSH_INTERVAL_MS / 2;
/** Maximum number of unwritten uses. Above it, further uses are dropped. */
const MAX_WAITING = 100_000;

/** SecretUse describes the last use of a secret. */
export interface SecretUse {
  /** Digest of the secret, see `digestOf`. */
  readonly hash: string;
  readonly keyId: string;
  /** Time of the use, in ms since the epoch. */
  readonly usedAtMs: number;
  /** IP address of the client. */
  readonly address: string;
}

/** LastUsedSink writes uses to the database. */
export interface LastUsedSink {
  /** Writes the last use of each secret and of its key. Must not replace a time with an earlier one. */
  touchLastUsed(batch: readonly SecretUse[]): Promise<void>;
}

export class LastUsed {
  /**
   * Unwritten uses by the digest of the secret. During the overlap of a rotation, owners need to see the use of both
   * secrets of a key.
   */
  private waiting = new Map<string, SecretUse>();
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;
  private pace = new Pace(0);

  constructor(
    private readonly sink: LastUsedSink,
    private readonly log: Logger,
  ) {}

  /**
   * Records a use of a secret, at most once a minute per `CachedKey` object. Runs on the request path. For a key in
   * regular use, the cost is one comparison.
   */
  record(key: CachedKey, nowMs: number, address: string): void {
    if (nowMs - key.useNotedAtMs < MIN_INTERVAL_MS && nowMs >= key.useNotedAtMs) return;
    key.useNotedAtMs = nowMs;
    if (this.waiting.size >= MAX_WAITING) return;
    const { hash, keyId } = key.record;
    this.waiting.set(hash, { hash, keyId, usedAtMs: nowMs, address });
  }

  start(): void {
    this.timer = setInterval(() => void this.flush(SPREAD_MS), FLUSH_INTERVAL_MS);
    this.timer.unref();
  }

  /**
   * Stops the periodic flushes, and writes the remaining uses. Never rejects, because a lost time of use must not fail
   * the shutdown.
   */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.pace.skipPauses();
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
        const batch = [...take(left.values(), size)];
        await this.sink.touchLastUsed(batch);
        for (const { hash } of batch) left.delete(hash);
        if (left.size > 0) await pace.waitUntilShare(1 - left.size / total);
      }
    } catch (error) {
      for (const [hash, use] of left) if (!this.waiting.has(hash)) this.waiting.set(hash, use);
      this.log.warn({ event: 'last_used_flush_failed', keys: left.size, err: error }, 'last_used_at was not written');
    }
  }
}

function* take<T>(items: Iterable<T>, most: number): Generator<T> {
  let taken = 0;
  for (const item of items) {
    if (taken++ === most) return;
    yield item;
  }
}
