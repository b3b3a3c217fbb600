/** Logs events that clients can cause any number of times, at most once a minute. */
import type { Logger } from './log.js';

const INTERVAL_MS = 60_000;

/** RareWarning logs one kind of event with the number of occurrences since the last line. */
export class RareWarning {
  private loggedMs = -Infinity;
  private times = 0;

  constructor(
    private readonly log: Logger | undefined,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Counts an event, and logs it if the last line is at least a minute old. */
  warn(fields: { readonly event: string } & Readonly<Record<string, unknown>>, message: string): void {
    this.times++;
    const nowMs = this.now();
    if (nowMs - this.loggedMs < INTERVAL_MS) return;
    this.log?.warn({ ...fields, times: this.times }, message);
    this.loggedMs = nowMs;
    this.times = 0;
  }
}
