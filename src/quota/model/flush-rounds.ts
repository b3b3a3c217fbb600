/**
 * How far the database has come, counted in flushes: what was changed while round n was the last one that had begun
 * stands there once a later round has been written. Not by the clock, which may jump.
 */
export class FlushRounds {
  /** The last round that has begun; 0: none has. */
  begun = 0;
  /** The last round that was written whole. */
  written = 0;

  /** A round begins. @returns what `end` wants when it has been written. */
  begin(): number {
    this.begun += 1;
    return this.begun;
  }

  end(round: number): void {
    this.written = round;
  }
}
