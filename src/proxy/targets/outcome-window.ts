/**
 * OutcomeWindow counts calls and failed calls within a sliding time window. The window consists of two halves, so it
 * covers between half of its length and its full length. Counting a call needs two additions and no allocation.
 */
export class OutcomeWindow {
  private readonly halfMs: number;
  private newCalls = 0;
  private newFailed = 0;
  private oldCalls = 0;
  private oldFailed = 0;
  /** Time at which the new half becomes the old half, by the caller's clock. */
  private nextHalfMs = 0;

  /** @param lengthMs length of the window. */
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
    if (nowMs >= this.nextHalfMs) this.advanceTo(nowMs);
    this.newCalls++;
    if (hasFailed) this.newFailed++;
  }

  /** Drops results that are too old. Call this before reading `calls` and `failed`. */
  advanceTo(nowMs: number): void {
    if (nowMs < this.nextHalfMs) return;
    const isRecent = nowMs < this.nextHalfMs + this.halfMs;
    this.oldCalls = isRecent ? this.newCalls : 0;
    this.oldFailed = isRecent ? this.newFailed : 0;
    this.newCalls = 0;
    this.newFailed = 0;
    this.nextHalfMs = nowMs + this.halfMs;
  }

  clear(): void {
    this.newCalls = this.newFailed = this.oldCalls = this.oldFailed = 0;
  }
}
