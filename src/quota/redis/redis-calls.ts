/** Script calls to Redis with a deadline. Each call reports whether Redis responded, and how long it took. */
import { METRICS } from '../../platform/metrics.js';
import type { RedisClient } from '../../stores/redis/connect.js';
import { sendScript, type WrittenCall } from '../../stores/redis/script-command.js';
import type { Script } from '../../stores/redis/script.js';
import type { DecisionSink } from '../model/decision-sink.js';

/** RedisCalls runs scripts within a deadline, and reports each call to the sink. */
export class RedisCalls {
  private readonly duration = METRICS.quotaStoreCallDuration.series();

  constructor(
    private readonly client: RedisClient,
    /** Receives the result of every call that was sent. */
    private readonly sink: Pick<DecisionSink, 'onCallEnd'>,
    readonly deadlineMs: number,
  ) {}

  /**
   * Runs a script once. Rejects when it fails, or when no response came in time. In the second case it may have run, or
   * may run later.
   */
  async run(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    deadlineMs = this.deadlineMs,
  ): Promise<unknown> {
    const startedMs = performance.now();
    try {
      const response = await withinDeadline(deadlineMs, script.run(this.client, keys, args));
      this.ended(startedMs, performance.now(), true);
      return response;
    } catch (error) {
      this.ended(startedMs, performance.now(), false, error);
      throw error;
    }
  }

  /** Sends a call that its caller has written. The caller waits for the response and must call `ended`. */
  send(call: WrittenCall): void {
    sendScript(this.client, call);
  }

  /** Reports the end of a call. Times are by `performance.now()`. */
  ended(startedMs: number, endedMs: number, answered: boolean, cause?: unknown): void {
    this.duration.observe((endedMs - startedMs) / 1_000);
    this.sink.onCallEnd(answered, cause);
  }
}

/** Returns the error of a call without a response. */
export function noResponse(deadlineMs: number): Error {
  return new Error(`no response within ${deadlineMs} ms`);
}

/**
 * Rejects when no response came within the deadline. After the timer, the event loop reads its sockets once more. If
 * this process was blocked, the response is already there and Redis was not slow.
 */
async function withinDeadline(deadlineMs: number, call: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => setImmediate(() => reject(noResponse(deadlineMs))), deadlineMs);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}
