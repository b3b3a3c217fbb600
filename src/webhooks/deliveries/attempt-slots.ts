/**
 * Attempt slots limit the concurrent attempts of a process over all endpoints, and the memory for their bodies.
 * Attempts at slow receivers, and at receivers whose speed is not known yet, share separate slots. However many of them
 * hang, the other endpoints keep theirs.
 *
 * A quick attempt that takes long moves to the slow slots. If all quick receivers hang at once, they block the quick
 * slots for two seconds and not until their attempts time out.
 */

/** Maximum number of concurrent quick attempts. */
const MOST_QUICK = 750;
/** No slow attempt starts while this many are in progress. */
const MOST_SLOW = 250;
/** Maximum number of slow attempts, including those that started as quick ones. */
const MOST_TURNED = 750;
/** Maximum size of all bodies of quick attempts. */
const MOST_BYTES = 24 * 1024 * 1024;
const MOST_SLOW_BYTES = 8 * 1024 * 1024;
/** Bytes that the body adds to the event's data. */
const ENVELOPE_BYTES = 256;
/** An attempt that takes longer is slow. */
export const SLOW_MS = 2_000;

/** SlotBounds limits the slots. Tests use lower limits. */
export interface SlotBounds {
  readonly mostQuick: number;
  readonly mostSlow: number;
  readonly mostTurned: number;
  readonly mostBytes: number;
  readonly mostSlowBytes: number;
}

const USUAL_BOUNDS: SlotBounds = {
  mostQuick: MOST_QUICK,
  mostSlow: MOST_SLOW,
  mostTurned: MOST_TURNED,
  mostBytes: MOST_BYTES,
  mostSlowBytes: MOST_SLOW_BYTES,
};

/** A slot in use. Free it when its attempt has ended. */
export interface AttemptSlot {
  readonly bytes: number;
  readonly sinceMs: number;
}

/** AttemptSlots hands out the slots of a process. */
export class AttemptSlots {
  /** In order of creation. */
  private readonly quick = new Set<AttemptSlot>();
  private readonly slow = new Set<AttemptSlot>();
  private quickBytes = 0;
  private slowBytes = 0;

  /** Creates the slots. @param now monotonic clock in milliseconds. */
  constructor(
    private readonly bounds = USUAL_BOUNDS,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Takes a slot for an attempt. Returns undefined if none is free. @param dataBytes size of the event's data. */
  takeSlot(isSlow: boolean, dataBytes: number): AttemptSlot | undefined {
    if (!this.hasRoom(isSlow, dataBytes)) return undefined;
    const slot = { bytes: this.countBytes(isSlow, dataBytes), sinceMs: this.now() };
    if (isSlow) this.addSlow(slot);
    else {
      this.quick.add(slot);
      this.quickBytes += slot.bytes;
    }
    return slot;
  }

  freeSlot(slot: AttemptSlot): void {
    if (this.quick.delete(slot)) this.quickBytes -= slot.bytes;
    else if (this.slow.delete(slot)) this.slowBytes -= slot.bytes;
  }

  /** Moves quick attempts that take long to the slow slots. */
  moveSlowAttempts(): void {
    const { mostTurned, mostSlowBytes } = this.bounds;
    for (const slot of this.quick) {
      if (this.now() - slot.sinceMs < SLOW_MS) return;
      if (this.slow.size >= mostTurned || this.slowBytes + slot.bytes > mostSlowBytes) return;
      this.freeSlot(slot);
      this.addSlow(slot);
    }
  }

  /** Number of attempts in progress. */
  get inUse(): number {
    return this.quick.size + this.slow.size;
  }

  /** Reports whether `takeSlot` would return a slot now. */
  hasRoom(isSlow: boolean, dataBytes: number): boolean {
    const bytes = this.countBytes(isSlow, dataBytes);
    const { mostQuick, mostSlow, mostBytes, mostSlowBytes } = this.bounds;
    // Separate limits: with a shared one, slow attempts could block a large quick body forever.
    return isSlow
      ? this.slow.size < mostSlow && this.slowBytes + bytes <= mostSlowBytes
      : this.quick.size < mostQuick && this.quickBytes + bytes <= mostBytes;
  }

  private addSlow(slot: AttemptSlot): void {
    this.slow.add(slot);
    this.slowBytes += slot.bytes;
  }

  /** A body larger than the limit counts as the whole limit, so that it is sent alone. */
  private countBytes(isSlow: boolean, dataBytes: number): number {
    const { mostBytes, mostSlowBytes } = this.bounds;
    return Math.min(dataBytes + ENVELOPE_BYTES, isSlow ? mostSlowBytes : mostBytes);
  }
}
