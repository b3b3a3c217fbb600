/**
 * Tracks the nodes whose reports a replacement counting process waits for. Each worker knows the counts that it saw
 * last, and all workers together know every count. Decisions wait until all workers have reported, so that no quota is
 * granted twice.
 */
import { YOUTH_MS } from '../redis/scripts/young.js';

/**
 * Longest wait in ms while no report arrives, so that a hanging or dead worker does not block the others for longer.
 */
export const LONGEST_WAIT_MS = 2_000;
/**
 * Longest wait in total, for workers with much to report. After this time, the oldest counters accept no more reports.
 */
const LONGEST_HAND_IN_MS = YOUTH_MS;
/** After a pause of this length (ms), a report is considered ended. */
const PAUSE_MS = 500;

/** AwaitedNodes tracks which nodes have reported. */
export class AwaitedNodes {
  /** Whether decisions must wait for reports. */
  isWaiting: boolean;
  private readonly reported = new Set<string>();
  private readonly sinceMs: number;
  /** When the last part of a report arrived. */
  private lastMs = -Infinity;

  /**
   * Creates the tracker.
   * @param count number of nodes that must report; 0 if no process has counted before.
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
   * @returns the number of nodes without a report; 0 if the wait has ended before. Undefined if the wait continues.
   */
  endIfLate(): number | undefined {
    if (!this.isWaiting) return 0;
    const nowMs = this.nowMs();
    const waitedMs = nowMs - this.sinceMs;
    const isReporting = nowMs - this.lastMs < PAUSE_MS && waitedMs < LONGEST_HAND_IN_MS;
    if (waitedMs < LONGEST_WAIT_MS || isReporting) return undefined;
    this.isWaiting = false;
    return this.count - this.reported.size;
  }
}
