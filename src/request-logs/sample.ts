/**
 * Selects which requests of one kind are kept: all requests up to a limit, and then a uniform random sample. This is
 * reservoir sampling with Vitter's algorithm R.
 */

/** Kinds of requests, most important first. Each kind has its own sample. */
export const KINDS = ['server_error', 'client_error', 'rate_limited', 'other'] as const;
/** Index of the only kind that is not an error. */
export const NO_ERROR = KINDS.length - 1;

/**
 * Returns the index in `KINDS` for a logged status. Status 499 (client disconnected) counts as a server error, because
 * the backend may be slow.
 */
export function kindOf(status: number): number {
  if (status < 400) return NO_ERROR;
  if (status === 429) return 2;
  return status >= 499 ? 0 : 1;
}

/** Next slot of the same sample, by slot. */
export type NextSlots = Int32Array;

const NONE = -1;

/** Sample is a linked list of slots. All samples share the array with the links, to save memory. */
export class Sample {
  /** Number of requests since the last `drain`. */
  seen = 0;
  /** Number of requests that are kept, each in a slot. */
  kept = 0;
  private first = NONE;

  /**
   * Reports whether the sample has kept all of its requests, and has fewer than `limit`. The next request then needs a
   * new slot.
   */
  isWhole(limit: number): boolean {
    return this.kept === this.seen && this.kept < limit;
  }

  /** Counts a request that is kept in a new slot. */
  add(slot: number, next: NextSlots): void {
    this.seen += 1;
    this.kept += 1;
    next[slot] = this.first;
    this.first = slot;
  }

  /**
   * Counts a request, and decides at random whether it replaces a kept request.
   * @param random number from 0 to below 1.
   * @returns the slot to overwrite, or -1 if the request is not kept.
   */
  replace(random: number, next: NextSlots): number {
    this.seen += 1;
    const drawn = Math.floor(random * this.seen);
    return drawn < this.kept ? this.slotAt(drawn, next) : NONE;
  }

  /**
   * Removes a random slot from the sample, which must not be empty.
   * @param random number from 0 to below 1.
   * @returns the removed slot.
   */
  removeRandom(random: number, next: NextSlots): number {
    const drawn = Math.floor(random * this.kept);
    this.kept -= 1;
    const before = drawn === 0 ? NONE : this.slotAt(drawn - 1, next);
    const slot = before === NONE ? this.first : next[before]!;
    if (before === NONE) this.first = next[slot]!;
    else next[before] = next[slot]!;
    return slot;
  }

  /**
   * Passes all slots to a callback, each with the number of requests that it represents (`weight`). The weights are
   * integers and add up to `seen`. Resets the sample.
   */
  drain(next: NextSlots, onSlot: (slot: number, weight: number) => void): void {
    const { seen, kept } = this;
    let slot = this.first;
    for (let index = 0; index < kept; index++) {
      const nextSlot = next[slot]!;
      onSlot(slot, Math.floor(((index + 1) * seen) / kept) - Math.floor((index * seen) / kept));
      slot = nextSlot;
    }
    this.seen = 0;
    this.kept = 0;
    this.first = NONE;
  }

  /** Returns the slot at a position in the list. */
  private slotAt(index: number, next: NextSlots): number {
    let slot = this.first;
    for (let at = 0; at < index; at++) slot = next[slot]!;
    return slot;
  }
}

/**
 * Divides a number of rows among samples, in their order. In the first round, each sample is offered half of the
 * remaining rows, and the last sample all of them. In the second round, each is offered all unused rows. So a frequent
 * kind of request does not displace all other kinds.
 * @param wanted number of rows that each sample has.
 * @returns the number of rows for each sample.
 */
export function divideRows(rows: number, wanted: readonly number[]): number[] {
  let left = rows;
  const shares = wanted.map(() => 0);
  for (const isLastRound of [false, true]) {
    for (const [index, wantedRows] of wanted.entries()) {
      const offered = isLastRound || index === wanted.length - 1 ? left : Math.ceil(left / 2);
      const more = Math.min(offered, wantedRows - shares[index]!);
      shares[index]! += more;
      left -= more;
    }
  }
  return shares;
}
