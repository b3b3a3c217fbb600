/**
 * What a counting process in the place of another waits for: each worker knows the counts that it saw last, and all of
 * them together know every one. Until all have handed in, nothing is decided, so that no month is given out twice.
 */

/** Longest that is waited: a worker that hangs, or is gone, keeps nobody from deciding for longer. */
export const LONGEST_WAIT_MS = 2_000;

/** AwaitedNodes knows who has handed in. */
export class AwaitedNodes {
  /** Whether decisions have to wait. */
  isWaiting: boolean;
  private readonly handedIn = new Set<string>();

  /** @param count how many have to hand in; none where nothing was counted before. */
  constructor(private readonly count = 0) {
    this.isWaiting = count > 0;
  }

  /** A node has handed in everything that it knew. */
  heard(node: string): void {
    this.handedIn.add(node);
    if (this.handedIn.size >= this.count) this.isWaiting = false;
  }

  /** Waits no longer. @returns how many have not handed in. */
  end(): number {
    const missing = this.isWaiting ? this.count - this.handedIn.size : 0;
    this.isWaiting = false;
    return missing;
  }
}
