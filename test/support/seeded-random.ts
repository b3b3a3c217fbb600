/** Random draws that a seed repeats. */

/** Draws from lists and ranges, the same for the same seed. */
export class SeededRandom {
  constructor(private state: number) {}

  /** From 0 on, below 1 (mulberry32). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from 0 on, below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** True once in `times`. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  of<T>(choices: readonly T[]): T {
    const at = this.below(choices.length);
    if (at >= choices.length) throw new Error('there is nothing to draw from');
    return choices[at] as T;
  }
}
