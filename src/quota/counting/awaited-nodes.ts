/**
 * What a counting process in the place of another waits for: each worker knows the counts that it saw last, and all of
 * them together know every one. Until all have handed in, nothing is decided, so that no month is given out twice.
 */
import { YOUTH_MS } from '../redis/scripts/young.js';

/** Longest that is waited while nothing is handed in: a worker that hangs, or is gone, keeps nobody for longer. */
export const LONGEST_WAIT_MS = 2_000;
/** Longest in all, for those who have much to hand in: later, the first counters take nothing more. */
const LONGEST_HAND_IN_MS = YOUTH_MS;
/** What comes after a pause like this is no part of a node's handing in. */
const PAUSE_MS = 500;

/** AwaitedNodes knows who has handed in. */
export class AwaitedNodes {
  /** Whether decisions have to wait. */
  isWaiting: boolean;
  private readonly handedIn = new Set<string>();
  private readonly sinceMs: number;
  private lastMs = -Infinity;

  /** @param count how many have to hand in; none where nothing was counted before. */
  constructor(
    private readonly count = 0,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.isWaiting = count > 0;
    this.sinceMs = nowMs();
  }

  /** Some of what a node knows has come. */
  goesOn(): void {
    if (this.isWaiting) this.lastMs = this.nowMs();
  }

  /** A node has handed in everything that it knew. */
  heard(node: string): void {
    this.handedIn.add(node);
    if (this.handedIn.size >= this.count) this.isWaiting = false;
  }

  /** Waits no longer where that has been long enough. @returns how many have not handed in; undefined: it goes on. */
  endIfLate(): number | undefined {
    if (!this.isWaiting) return 0;
    const nowMs = this.nowMs();
    const waitedMs = nowMs - this.sinceMs;
    const isHandedIn = nowMs - this.lastMs < PAUSE_MS && waitedMs < LONGEST_HAND_IN_MS;
    if (waitedMs < LONGEST_WAIT_MS || isHandedIn) return undefined;
    this.isWaiting = false;
    return this.count - this.handedIn.size;
  }
}
