/**
 * FlushProgress counts the flushes (rounds) to the database. A change made during round n is in the database when a
 * round after n has been written. Rounds are counted instead of times, because clocks can jump.
 */
export class FlushProgress {
  /** Number of the last round that has begun. 0 before the first round. */
  begun = 0;
  /** Number of the last round that was written completely. 0 if no round was written. */
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
