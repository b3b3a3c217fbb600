/**
 * Attempt slots: how many attempts a process has under way at the same time, over all endpoints, and how much memory
 * their bodies take. Attempts at slow receivers, and at receivers that are not known yet, share slots of their own.
 * However many of them hang, the other endpoints keep theirs.
 *
 * An attempt that began as a quick one and takes long moves to the slow slots. So receivers that were quick and all
 * hang at once block the quick slots for two seconds, not until their attempts time out.
 */

/** Quick attempts under way at the same time. */
const MOST_QUICK = 750;
/** No slow attempt begins while this many are under way. */
const MOST_SLOW = 250;
/** Slow attempts including those that began as quick ones, as far as their bodies fit. */
const MOST_TURNED = 750;
/** Bytes of the bodies of quick attempts. */
const MOST_BYTES = 24 * 1024 * 1024;
const MOST_SLOW_BYTES = 8 * 1024 * 1024;
/** Bytes of a body around the data of its event. */
const ENVELOPE_BYTES = 256;
/** An attempt that takes longer is slow. */
export const SLOW_MS = 2_000;

/** SlotBounds says how many slots there are; tests have fewer. */
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
  /** In the order in which they were taken. */
  private readonly quick = new Set<AttemptSlot>();
  private readonly slow = new Set<AttemptSlot>();
  private quickBytes = 0;
  private slowBytes = 0;

  /** @param now milliseconds that never go back. */
  constructor(
    private readonly bounds = USUAL_BOUNDS,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Takes a slot for an attempt whose event has this many bytes of data. Undefined: none is free. */
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

  /** Attempts under way. */
  get inUse(): number {
    return this.quick.size + this.slow.size;
  }

  /** Reports whether `takeSlot` would return a slot now. */
  hasRoom(isSlow: boolean, dataBytes: number): boolean {
    const bytes = this.countBytes(isSlow, dataBytes);
    const { mostQuick, mostSlow, mostBytes, mostSlowBytes } = this.bounds;
    // Two bounds, not one bound and a part of it: slow attempts cannot make a large quick body wait for ever.
    return isSlow
      ? this.slow.size < mostSlow && this.slowBytes + bytes <= mostSlowBytes
      : this.quick.size < mostQuick && this.quickBytes + bytes <= mostBytes;
  }

  private addSlow(slot: AttemptSlot): void {
    this.slow.add(slot);
    this.slowBytes += slot.bytes;
  }

  /** A body larger than the bound counts as the whole bound: it goes out alone. */
  private countBytes(isSlow: boolean, dataBytes: number): number {
    const { mostBytes, mostSlowBytes } = this.bounds;
    return Math.min(dataBytes + ENVELOPE_BYTES, isSlow ? mostSlowBytes : mostBytes);
  }
}
