/**
 * Tracks the workers whose reports a restarted counting process needs. Each worker knows the counts that it saw last,
 * and all workers together know every count. The process refuses decisions until all workers have reported, or until a
 * time limit, so that no quota is granted twice.
 */
import { YOUTH_MS } from '../redis/scripts/young-counters.js';

/** Longest wait in ms while no report arrives. It bounds how long a hanging or dead worker can block the others. */
export const LONGEST_WAIT_MS = 2_000;
/**
 * Longest wait in ms while reports still arrive, for workers with much to report. After this time, the oldest counters
 * accept no more reports.
 */
const LONGEST_HAND_IN_MS = YOUTH_MS;
/** After a pause of this length (ms), a report is considered ended. */
const PAUSE_MS = 500;

/** AwaitedNodes tracks which nodes have reported. */
export class AwaitedNodes {
  /** Whether decisions must be refused, because nodes still have to report. */
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

  /** Records that a node has completed its report. After the last report, ends the wait. */
  recordReport(node: string): void {
    this.reported.add(node);
    if (this.reported.size >= this.count) this.isWaiting = false;
  }

  /**
   * Ends the wait if it has lasted long enough.
   * @returns the number of nodes without a report, or 0 if the wait had ended before. Undefined if the wait continues.
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
