/**
 * The attempts that a process has under way at the same time, over all endpoints. Those of slow receivers share a
 * quarter of them: however many hang, the others have the rest.
 */

/** Attempts under way at the same time. */
const MOST_UNDER_WAY = 1_000;
/** Of them, of lanes whose receivers are slow. */
const MOST_SLOW = 250;

/** A place that was taken: it is given back as what it was taken for. */
export interface Place {
  readonly isSlow: boolean;
}

/** Places hands them out. */
export class Places {
  private taken = 0;
  private slow = 0;

  constructor(
    private readonly most = MOST_UNDER_WAY,
    private readonly mostSlow = MOST_SLOW,
  ) {}

  /** Undefined where there is none for such a lane. */
  take(isSlow: boolean): Place | undefined {
    if (!this.hasRoom(isSlow)) return undefined;
    this.taken += 1;
    if (isSlow) this.slow += 1;
    return { isSlow };
  }

  give({ isSlow }: Place): void {
    this.taken -= 1;
    if (isSlow) this.slow -= 1;
  }

  get underWay(): number {
    return this.taken;
  }

  /** Whether such a lane would get one now. */
  hasRoom(isSlow: boolean): boolean {
    return this.taken < this.most && !(isSlow && this.slow >= this.mostSlow);
  }
}
