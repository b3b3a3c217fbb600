/**
 * Runs script calls to Redis with a deadline. Reports for each call whether Redis responded, and how long the call
 * took.
 */
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
    /** Receives the end of every call. */
    private readonly sink: Pick<DecisionSink, 'onCallEnd'>,
    readonly deadlineMs: number,
  ) {}

  /**
   * Runs a script once. Rejects if the script fails, or if no response comes in time. Without a response, the script
   * may have run, or may run later.
   */
  async runScript(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    deadlineMs = this.deadlineMs,
  ): Promise<unknown> {
    const startedMs = performance.now();
    try {
      const response = await withinDeadline(deadlineMs, script.run(this.client, keys, args));
      this.recordEnd(startedMs, performance.now(), true);
      return response;
    } catch (error) {
      this.recordEnd(startedMs, performance.now(), false, error);
      throw error;
    }
  }

  /**
   * Sends a call that its caller has formatted. The call object receives the response. The caller must then call
   * `recordEnd`.
   */
  send(call: WrittenCall): void {
    sendScript(this.client, call);
  }

  /** Reports the end of a call. Times are by `performance.now()`. */
  recordEnd(startedMs: number, endedMs: number, hasResponse: boolean, cause?: unknown): void {
    this.duration.observe((endedMs - startedMs) / 1_000);
    this.sink.onCallEnd(hasResponse, cause);
  }
}

/** Returns the error for a call without a response. */
export function noResponse(deadlineMs: number): Error {
  return new Error(`no response within ${deadlineMs} ms`);
}

/**
 * Settles like the call, or rejects if no response came within the deadline. After the timer, the event loop reads its
 * sockets once more. If this process was blocked, the response has already arrived, and Redis was not slow.
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
