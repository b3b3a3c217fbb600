/**
 * FlushProgress counts the flushes (rounds) to the database. A change made during round n is in the database after a
 * later round was written. Rounds are counted instead of times, because clocks can jump.
 */
export class FlushProgress {
  /** Number of the last round that has begun; 0 if none has. */
  begun = 0;
  /** Number of the last round that was written completely; 0 if none was. */
  written = 0;

  /**
   * Begins a round.
   * @returns the round's number, for `end`.
   */
  begin(): number {
    this.begun += 1;
    return this.begun;
  }

  /** Records that a round was written completely. */
  end(round: number): void {
    this.written = round;
  }
}
