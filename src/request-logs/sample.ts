/**
 * What is kept of many requests of one kind: all of them while there is room, then an even sample (reservoir sampling,
 * Vitter's algorithm R), in which each has had the same chance.
 */

/** Kinds of requests, the ones that somebody will ask about first in front. Each has a sample of its own. */
export const KINDS = ['server_error', 'client_error', 'rate_limited', 'other'] as const;
/** The last of them is no error. */
export const NO_ERROR = KINDS.length - 1;

/** The kind of a request by the status in the log. 499, a client that left, may be the backend's doing. */
export function kindOf(status: number): number {
  if (status < 400) return NO_ERROR;
  if (status === 429) return 2;
  return status >= 499 ? 0 : 1;
}

/** The places that samples are kept in: which one follows which. */
export type NextPlaces = Int32Array;

const NONE = -1;

/** Sample is a list of places in a table that belongs to somebody else: there may be one for every account. */
export class Sample {
  /** Requests since the sample was begun. */
  seen = 0;
  kept = 0;
  private first = NONE;

  /** Whether the next one is kept for certain, where there is a place for it. */
  isWhole(most: number): boolean {
    return this.kept === this.seen && this.kept < most;
  }

  /** Keeps one more in a place that is free. */
  add(place: number, next: NextPlaces): void {
    this.seen += 1;
    this.kept += 1;
    next[place] = this.first;
    this.first = place;
  }

  /** One more has been seen. @returns the place of the one that it is kept instead of; -1: it is not kept. */
  replace(random: number, next: NextPlaces): number {
    this.seen += 1;
    const drawn = Math.floor(random * this.seen);
    return drawn < this.kept ? this.placeAt(drawn, next) : NONE;
  }

  /** Leaves one out, drawn by lot; there must be one. @returns the place that is free now. */
  leaveOut(random: number, next: NextPlaces): number {
    const drawn = Math.floor(random * this.kept);
    this.kept -= 1;
    const before = drawn === 0 ? NONE : this.placeAt(drawn - 1, next);
    const place = before === NONE ? this.first : next[before]!;
    if (before === NONE) this.first = next[place]!;
    else next[before] = next[place]!;
    return place;
  }

  /**
   * Hands out all places, each with the number of requests that it stands for: whole numbers, which add up to all that
   * were seen. Begins anew.
   */
  drain(next: NextPlaces, take: (place: number, weight: number) => void): void {
    const { seen, kept } = this;
    let place = this.first;
    for (let index = 0; index < kept; index++) {
      const following = next[place]!;
      take(place, Math.floor(((index + 1) * seen) / kept) - Math.floor((index * seen) / kept));
      place = following;
    }
    this.seen = 0;
    this.kept = 0;
    this.first = NONE;
  }

  private placeAt(index: number, next: NextPlaces): number {
    let place = this.first;
    for (let at = 0; at < index; at++) place = next[place]!;
    return place;
  }
}

/**
 * Divides a number of rows among samples: each gets half of what is left, the first one first, and what nobody needs
 * goes round once more. So no kind of request is left out while there are rows for several.
 */
export function shareOut(rows: number, wanted: readonly number[]): number[] {
  let left = rows;
  const shares = wanted.map(() => 0);
  for (const isLastRound of [false, true]) {
    for (const [index, most] of wanted.entries()) {
      const offered = isLastRound || index === wanted.length - 1 ? left : Math.ceil(left / 2);
      const more = Math.min(offered, most - shares[index]!);
      shares[index]! += more;
      left -= more;
    }
  }
  return shares;
}
