/** Generates pseudorandom numbers (sfc32) from a seed, so that generated customers are the same on every machine. */
import { createHash } from 'node:crypto';

export class Random {
  private readonly state: Uint32Array;

  /** Creates a generator. Equal seeds give equal sequences. */
  constructor(seed: string) {
    const digest = createHash('sha256').update(seed).digest();
    this.state = Uint32Array.from([0, 4, 8, 12].map((offset) => digest.readUInt32LE(offset)));
  }

  /** Returns a number in [0, 1). */
  fraction(): number {
    const [a = 0, b = 0, c = 0, counter = 0] = this.state;
    const sum = (a + b + counter) | 0;
    this.state[3] = counter + 1;
    this.state[0] = b ^ (b >>> 9);
    this.state[1] = (c + (c << 3)) | 0;
    this.state[2] = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 4_294_967_296;
  }

  /** Returns an integer in [0, `below`). */
  below(below: number): number {
    return Math.floor(this.fraction() * below);
  }

  /** Returns true with the given probability. */
  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /**
   * Returns a random item.
   * @throws RangeError if the list is empty
   */
  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  }

  /**
   * Returns a random key, with a probability proportional to its weight. Throws RangeError if there is no positive
   * weight.
   */
  weighted<Key extends string>(weights: Readonly<Record<Key, number>>): Key {
    const entries = Object.entries(weights) as [Key, number][];
    let rest = this.fraction() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) {
      rest -= weight;
      if (rest < 0) return key;
    }
    throw new RangeError('nothing to pick from');
  }

  /** Returns `count` random digits. For example, `digits(3)` may return `"047"`. */
  digits(count: number): string {
    return String(this.below(10 ** count)).padStart(count, '0');
  }
}
