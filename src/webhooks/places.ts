/**
 * The attempts that a process has under way at the same time, over all endpoints, and the memory that their bodies
 * take. Those of slow receivers share a quarter: however many hang, the others have the rest.
 */

/** Attempts under way at the same time. */
const MOST_UNDER_WAY = 1_000;
/** Of them, of lanes whose receivers are slow. */
const MOST_SLOW = 250;
/** Of the bodies of attempts under way, and of those of slow receivers beside them. */
const MOST_BYTES = 24 * 1024 * 1024;
const MOST_SLOW_BYTES = 8 * 1024 * 1024;
/** Of a body, around what its event says. */
const ENVELOPE_BYTES = 256;

/** How much there is; tests have less. */
export interface PlacesBounds {
  readonly most: number;
  readonly mostSlow: number;
  readonly mostBytes: number;
  readonly mostSlowBytes: number;
}

const USUAL_BOUNDS: PlacesBounds = {
  most: MOST_UNDER_WAY,
  mostSlow: MOST_SLOW,
  mostBytes: MOST_BYTES,
  mostSlowBytes: MOST_SLOW_BYTES,
};

/** A place that was taken: it is given back as what it was taken for. */
export interface Place {
  readonly isSlow: boolean;
  readonly bytes: number;
}

/** Places hands them out. */
export class Places {
  private taken = 0;
  private slow = 0;
  private bytes = 0;
  private slowBytes = 0;

  constructor(private readonly bounds = USUAL_BOUNDS) {}

  /** Undefined where there is none for an attempt of such a lane, whose event says so many bytes. */
  take(isSlow: boolean, dataBytes: number): Place | undefined {
    if (!this.hasRoom(isSlow, dataBytes)) return undefined;
    const bytes = this.counted(isSlow, dataBytes);
    this.taken += 1;
    if (isSlow) {
      this.slow += 1;
      this.slowBytes += bytes;
    } else this.bytes += bytes;
    return { isSlow, bytes };
  }

  give({ isSlow, bytes }: Place): void {
    this.taken -= 1;
    if (isSlow) {
      this.slow -= 1;
      this.slowBytes -= bytes;
    } else this.bytes -= bytes;
  }

  get underWay(): number {
    return this.taken;
  }

  /** Whether such an attempt would get one now. */
  hasRoom(isSlow: boolean, dataBytes: number): boolean {
    const { most, mostSlow, mostBytes, mostSlowBytes } = this.bounds;
    if (this.taken >= most || (isSlow && this.slow >= mostSlow)) return false;
    const bytes = this.counted(isSlow, dataBytes);
    // Two bounds, not one and a part of it: what is slow cannot keep a large body of the others waiting for ever.
    return isSlow ? this.slowBytes + bytes <= mostSlowBytes : this.bytes + bytes <= mostBytes;
  }

  /** What is larger than all that there is has all of it, when it is free: it goes out alone, not never. */
  private counted(isSlow: boolean, dataBytes: number): number {
    const { mostBytes, mostSlowBytes } = this.bounds;
    return Math.min(dataBytes + ENVELOPE_BYTES, isSlow ? mostSlowBytes : mostBytes);
  }
}
