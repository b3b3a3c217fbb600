/**
 * FlushRounds counts flushes to the database. A change made during round n is in the database once a later round is
 * written. It counts rounds and not time, because clocks can jump.
 */
export class FlushProgress {
  /** The last round that has begun; 0 if none has. */
  begun = 0;
  /** The last round that was written completely. */
  written = 0;

  /**
   * Begins a round.
   * @returns the round's number, for `end`.
   */
  begin(): number {
    this.begun += 1;
    return this.begun;
  }

  end(round: number): void {
    this.written = round;
  }
}
