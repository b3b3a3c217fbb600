/** Logs what clients cause as often as they like: at most once a minute. */
import type { Logger } from './log.js';

const INTERVAL_MS = 60_000;

/** RareWarning logs one kind of event, and says how often it happened since the line before. */
export class RareWarning {
  private loggedMs = -Infinity;
  private times = 0;

  constructor(
    private readonly log: Logger | undefined,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Counts an event, and logs it unless there was a line within the last minute. */
  warn(fields: { readonly event: string } & Readonly<Record<string, unknown>>, message: string): void {
    this.times++;
    const nowMs = this.now();
    if (nowMs - this.loggedMs < INTERVAL_MS) return;
    this.log?.warn({ ...fields, times: this.times }, message);
    this.loggedMs = nowMs;
    this.times = 0;
  }
}
