/**
 * The attempts that a process has under way at the same time, over all endpoints, and the memory that their bodies
 * take. Those that are slow, or of receivers of which nobody knows yet that they are not, share a part of their own:
 * however many hang, the others have theirs.
 *
 * An attempt that began as a quick one and has not ended soon is one of the slow from then on: receivers that all were
 * quick, and hang all at once, keep the places of the quick for that long, not until they are given up.
 */

/** Quick attempts under way at the same time. */
const MOST_QUICK = 750;
/** No slow attempt begins while there are so many. */
const MOST_SLOW = 250;
/** With those that have become slow, as far as their bodies fit: more stay where they are. */
const MOST_TURNED = 750;
/** Of the bodies of each. */
const MOST_BYTES = 24 * 1024 * 1024;
const MOST_SLOW_BYTES = 8 * 1024 * 1024;
/** Of a body, around what its event says. */
const ENVELOPE_BYTES = 256;
/** An attempt that takes longer is slow. */
export const SLOW_MS = 2_000;

/** How much there is; tests have less. */
export interface PlacesBounds {
  readonly mostQuick: number;
  readonly mostSlow: number;
  readonly mostTurned: number;
  readonly mostBytes: number;
  readonly mostSlowBytes: number;
}

const USUAL_BOUNDS: PlacesBounds = {
  mostQuick: MOST_QUICK,
  mostSlow: MOST_SLOW,
  mostTurned: MOST_TURNED,
  mostBytes: MOST_BYTES,
  mostSlowBytes: MOST_SLOW_BYTES,
};

/** A place that was taken: to be given back. */
export interface Place {
  readonly bytes: number;
  readonly sinceMs: number;
}

/** Places hands them out. */
export class Places {
  /** In the order in which they were taken. */
  private readonly quick = new Set<Place>();
  private readonly slow = new Set<Place>();
  private quickBytes = 0;
  private slowBytes = 0;

  /** @param now milliseconds that never go back. */
  constructor(
    private readonly bounds = USUAL_BOUNDS,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Undefined where there is none for an attempt of such a lane, whose event says so many bytes. */
  take(isSlow: boolean, dataBytes: number): Place | undefined {
    if (!this.hasRoom(isSlow, dataBytes)) return undefined;
    const place = { bytes: this.counted(isSlow, dataBytes), sinceMs: this.now() };
    if (isSlow) this.addSlow(place);
    else {
      this.quick.add(place);
      this.quickBytes += place.bytes;
    }
    return place;
  }

  give(place: Place): void {
    if (this.quick.delete(place)) this.quickBytes -= place.bytes;
    else if (this.slow.delete(place)) this.slowBytes -= place.bytes;
  }

  /** Attempts that have been under way for long are slow ones from now on. */
  turnSlow(): void {
    const { mostTurned, mostSlowBytes } = this.bounds;
    for (const place of this.quick) {
      if (this.now() - place.sinceMs < SLOW_MS) return;
      if (this.slow.size >= mostTurned || this.slowBytes + place.bytes > mostSlowBytes) return;
      this.give(place);
      this.addSlow(place);
    }
  }

  get underWay(): number {
    return this.quick.size + this.slow.size;
  }

  /** Whether such an attempt would get one now. */
  hasRoom(isSlow: boolean, dataBytes: number): boolean {
    const bytes = this.counted(isSlow, dataBytes);
    const { mostQuick, mostSlow, mostBytes, mostSlowBytes } = this.bounds;
    // Two bounds, not one and a part of it: what is slow cannot keep a large body of the others waiting for ever.
    return isSlow
      ? this.slow.size < mostSlow && this.slowBytes + bytes <= mostSlowBytes
      : this.quick.size < mostQuick && this.quickBytes + bytes <= mostBytes;
  }

  private addSlow(place: Place): void {
    this.slow.add(place);
    this.slowBytes += place.bytes;
  }

  /** What is larger than all that there is has all of it, when it is free: it goes out alone, not never. */
  private counted(isSlow: boolean, dataBytes: number): number {
    const { mostBytes, mostSlowBytes } = this.bounds;
    return Math.min(dataBytes + ENVELOPE_BYTES, isSlow ? mostSlowBytes : mostBytes);
  }
}
