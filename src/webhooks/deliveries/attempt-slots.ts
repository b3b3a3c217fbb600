/**
 * Attempt slots limit the concurrent delivery attempts of a process across all endpoints, and the memory for their
 * bodies. There are separate slots for attempts at slow receivers, and at receivers whose speed is not known yet. Even
 * if all of these attempts hang, the slots of the other endpoints stay free.
 *
 * A quick attempt that takes long moves to the slow slots. So if all quick receivers hang at the same time, their
 * attempts block the quick slots only for two seconds.
 */

/** Maximum number of concurrent quick attempts. */
const MAX_QUICK = 750;
/** Number of slow attempts in progress at which no further attempt starts as a slow one. */
const MAX_SLOW = 250;
/** Maximum number of slow attempts, including attempts that started as quick ones. */
const MAX_TURNED = 750;
/** Maximum total size of the bodies of quick attempts, in bytes. */
const MAX_BYTES = 24 * 1024 * 1024;
/** Maximum total size of the bodies of slow attempts, in bytes. */
const MAX_SLOW_BYTES = 8 * 1024 * 1024;
/** Estimated size of a body without the event's data. */
const ENVELOPE_BYTES = 256;
/** Duration from which an attempt in progress counts as slow. */
export const SLOW_MS = 2_000;

/** SlotBounds sets the limits of the slots. Tests use lower limits. */
export interface SlotBounds {
  readonly mostQuick: number;
  readonly mostSlow: number;
  readonly mostSlowInTotal: number;
  readonly mostBytes: number;
  readonly mostSlowBytes: number;
}

const DEFAULT_BOUNDS: SlotBounds = {
  mostQuick: MAX_QUICK,
  mostSlow: MAX_SLOW,
  mostSlowInTotal: MAX_TURNED,
  mostBytes: MAX_BYTES,
  mostSlowBytes: MAX_SLOW_BYTES,
};

/** A slot in use by one attempt. The caller must free the slot when the attempt has ended. */
export interface AttemptSlot {
  readonly bytes: number;
  /** Start of the attempt by the clock of `AttemptSlots`. */
  readonly sinceMs: number;
}

/** AttemptSlots manages the slots of a process. */
export class AttemptSlots {
  /** Quick slots in use, in order of creation. */
  private readonly quick = new Set<AttemptSlot>();
  private readonly slow = new Set<AttemptSlot>();
  private quickBytes = 0;
  private slowBytes = 0;

  /** @param now returns the time of a monotonic clock in milliseconds. */
  constructor(
    private readonly bounds = DEFAULT_BOUNDS,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Takes a slot for an attempt. Returns undefined if no slot is free. @param dataBytes size of the event's data. */
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

  /** Moves quick attempts that have become slow to the slow slots, while the limits allow. */
  moveSlowAttempts(): void {
    const { mostSlowInTotal, mostSlowBytes } = this.bounds;
    for (const slot of this.quick) {
      if (this.now() - slot.sinceMs < SLOW_MS) return;
      if (this.slow.size >= mostSlowInTotal || this.slowBytes + slot.bytes > mostSlowBytes) return;
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
    // The limits are separate. With a shared limit, slow attempts could block a large quick body forever.
    return isSlow
      ? this.slow.size < mostSlow && this.slowBytes + bytes <= mostSlowBytes
      : this.quick.size < mostQuick && this.quickBytes + bytes <= mostBytes;
  }

  private addSlow(slot: AttemptSlot): void {
    this.slow.add(slot);
    this.slowBytes += slot.bytes;
  }

  /**
   * Returns the number of bytes that an attempt takes from the limit. A body that exceeds the limit takes the whole
   * limit, so it is sent alone.
   */
  private countBytes(isSlow: boolean, dataBytes: number): number {
    const { mostBytes, mostSlowBytes } = this.bounds;
    return Math.min(dataBytes + ENVELOPE_BYTES, isSlow ? mostSlowBytes : mostBytes);
  }
}
