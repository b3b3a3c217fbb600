/**
 * The nodes that a replacement counting process waits for. Each worker knows the counts that it saw last, and all
 * workers together know every count. Decisions wait until all have reported, so that no month's quota is granted twice.
 */
import { YOUTH_MS } from '../redis/scripts/young.js';

/** Longest wait without any report, so that a hanging or dead worker does not block the others for longer. */
export const LONGEST_WAIT_MS = 2_000;
/** Longest wait in total, for workers with much to report. After it, the oldest counters accept no more reports. */
const LONGEST_HAND_IN_MS = YOUTH_MS;
/** A pause of this length ends a worker's report. */
const PAUSE_MS = 500;

/** AwaitedNodes tracks which nodes have reported. */
export class AwaitedNodes {
  /** Whether decisions must wait. */
  isWaiting: boolean;
  private readonly reported = new Set<string>();
  private readonly sinceMs: number;
  private lastMs = -Infinity;

  /**
   * Creates the set of awaited nodes.
   * @param count number of nodes that must report; 0 if nothing was counted before.
   */
  constructor(
    private readonly count = 0,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.isWaiting = count > 0;
    this.sinceMs = nowMs();
  }

  /** Records that a part of a report has arrived. */
  recordProgress(): void {
    if (this.isWaiting) this.lastMs = this.nowMs();
  }

  /** Records that a node has reported everything that it knew. */
  recordReport(node: string): void {
    this.reported.add(node);
    if (this.reported.size >= this.count) this.isWaiting = false;
  }

  /**
   * Ends the wait if it has lasted long enough.
   * @returns the number of nodes without a report, or undefined if the wait continues.
   */
  endIfLate(): number | undefined {
    if (!this.isWaiting) return 0;
    const nowMs = this.nowMs();
    const waitedMs = nowMs - this.sinceMs;
    const isHandedIn = nowMs - this.lastMs < PAUSE_MS && waitedMs < LONGEST_HAND_IN_MS;
    if (waitedMs < LONGEST_WAIT_MS || isHandedIn) return undefined;
    this.isWaiting = false;
    return this.count - this.reported.size;
  }
}
