/** Pseudorandom numbers from a seed. */

/** SeededRandom draws from lists and ranges. The same seed gives the same draws. */
export class SeededRandom {
  constructor(private state: number) {}

  /** Returns a number from 0 (inclusive) to 1 (exclusive). Uses mulberry32. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Returns an integer from 0 (inclusive) to `end` (exclusive). */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** Returns true with a probability of one in `times`. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  of<T>(choices: readonly T[]): T {
    const at = this.below(choices.length);
    if (at >= choices.length) throw new Error('the list of choices is empty');
    return choices[at] as T;
  }
}
