/**
 * Counts the calls of the last seconds, and those that failed. It has two halves: the window covers between half of its
 * length and all of it. A call costs two additions and no allocation.
 */
export class OutcomeWindow {
  private readonly halfMs: number;
  private newCalls = 0;
  private newFailed = 0;
  private oldCalls = 0;
  private oldFailed = 0;
  /** When the new half becomes the old one, by the caller's clock. */
  private turnsMs = 0;

  constructor(lengthMs: number) {
    this.halfMs = lengthMs / 2;
  }

  get calls(): number {
    return this.newCalls + this.oldCalls;
  }

  get failed(): number {
    return this.newFailed + this.oldFailed;
  }

  count(hasFailed: boolean, nowMs: number): void {
    if (nowMs >= this.turnsMs) this.advanceTo(nowMs);
    this.newCalls++;
    if (hasFailed) this.newFailed++;
  }

  /** Drops results that are too old. */
  advanceTo(nowMs: number): void {
    if (nowMs < this.turnsMs) return;
    const isRecent = nowMs < this.turnsMs + this.halfMs;
    this.oldCalls = isRecent ? this.newCalls : 0;
    this.oldFailed = isRecent ? this.newFailed : 0;
    this.newCalls = 0;
    this.newFailed = 0;
    this.turnsMs = nowMs + this.halfMs;
  }

  clear(): void {
    this.newCalls = this.newFailed = this.oldCalls = this.oldFailed = 0;
  }
}
