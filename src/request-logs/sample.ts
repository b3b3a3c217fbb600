/**
 * Sampling of requests of one kind: all of them while there is room, then a uniform sample (reservoir sampling,
 * Vitter's algorithm R).
 */

/** Kinds of requests, most important first. Each has its own sample. */
export const KINDS = ['server_error', 'client_error', 'rate_limited', 'other'] as const;
/** Index of the only kind that is not an error. */
export const NO_ERROR = KINDS.length - 1;

/**
 * Returns the kind for a logged status. 499, a client that left, counts as a server error because the backend may be
 * slow.
 */
export function kindOf(status: number): number {
  if (status < 400) return NO_ERROR;
  if (status === 429) return 2;
  return status >= 499 ? 0 : 1;
}

/** Links each slot to the next one of its sample. */
export type NextSlots = Int32Array;

const NONE = -1;

/** Sample is a linked list of slots. The links are in a shared array, because every account may have samples. */
export class Sample {
  /** Number of requests since the last `drain`. */
  seen = 0;
  kept = 0;
  private first = NONE;

  /** Whether the next request is kept for certain, if there is a free slot. */
  isWhole(limit: number): boolean {
    return this.kept === this.seen && this.kept < limit;
  }

  /** Adds a free slot. */
  add(slot: number, next: NextSlots): void {
    this.seen += 1;
    this.kept += 1;
    next[slot] = this.first;
    this.first = slot;
  }

  /**
   * Counts a request.
   * @returns the slot that it replaces, or -1 if it is not kept.
   */
  replace(random: number, next: NextSlots): number {
    this.seen += 1;
    const drawn = Math.floor(random * this.seen);
    return drawn < this.kept ? this.slotAt(drawn, next) : NONE;
  }

  /**
   * Removes a random slot. The sample must not be empty.
   * @returns the removed slot.
   */
  leaveOut(random: number, next: NextSlots): number {
    const drawn = Math.floor(random * this.kept);
    this.kept -= 1;
    const before = drawn === 0 ? NONE : this.slotAt(drawn - 1, next);
    const slot = before === NONE ? this.first : next[before]!;
    if (before === NONE) this.first = next[slot]!;
    else next[before] = next[slot]!;
    return slot;
  }

  /**
   * Passes all slots to a callback, each with the number of requests that it represents. These are integers that add up
   * to `seen`. Resets the sample.
   */
  drain(next: NextSlots, onSlot: (slot: number, weight: number) => void): void {
    const { seen, kept } = this;
    let slot = this.first;
    for (let index = 0; index < kept; index++) {
      const following = next[slot]!;
      onSlot(slot, Math.floor(((index + 1) * seen) / kept) - Math.floor((index * seen) / kept));
      slot = following;
    }
    this.seen = 0;
    this.kept = 0;
    this.first = NONE;
  }

  private slotAt(index: number, next: NextSlots): number {
    let slot = this.first;
    for (let at = 0; at < index; at++) slot = next[slot]!;
    return slot;
  }
}

/**
 * Divides rows among samples. Each gets half of what is left, the first one first; unused rows are offered once more.
 * So no kind is left out while there are rows for several.
 */
export function shareOut(rows: number, wanted: readonly number[]): number[] {
  let left = rows;
  const shares = wanted.map(() => 0);
  for (const isLastRound of [false, true]) {
    for (const [index, wish] of wanted.entries()) {
      const offered = isLastRound || index === wanted.length - 1 ? left : Math.ceil(left / 2);
      const more = Math.min(offered, wish - shares[index]!);
      shares[index]! += more;
      left -= more;
    }
  }
  return shares;
}
