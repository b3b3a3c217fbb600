/** Script calls to Redis with a deadline; each tells whether Redis answered, and how long it took. */
import { METRICS } from '../metrics.js';
import type { RedisClient } from '../redis/connect.js';
import type { Script } from './redis-script.js';

/** Told of every call that went out: true when it was answered, else why it was not. */
export type OnCall = (answered: boolean, cause?: unknown) => void;

export class RedisCalls {
  private readonly duration = METRICS.quotaStoreCallDuration.series();

  constructor(
    private readonly client: RedisClient,
    private readonly onCall: OnCall,
    private readonly deadlineMs: number,
  ) {}

  /** Runs a script once. Rejects when it fails, or when no answer came in time: then it may have run, or may run yet. */
  async run(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    deadlineMs = this.deadlineMs,
  ): Promise<unknown> {
    const startedMs = performance.now();
    try {
      const answer = await withinDeadline(deadlineMs, script.run(this.client, keys, args));
      this.onCall(true);
      return answer;
    } catch (error) {
      this.onCall(false, error);
      throw error;
    } finally {
      this.duration.observe((performance.now() - startedMs) / 1_000);
    }
  }
}

/**
 * Rejects when no answer came within the deadline. After the timer the event loop reads its sockets once more: when it was
 * this process that stood still, the answer is already there, and Redis must not be blamed.
 */
async function withinDeadline(deadlineMs: number, call: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => setImmediate(() => reject(new Error(`no answer within ${deadlineMs} ms`))), deadlineMs);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}
