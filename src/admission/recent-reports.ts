/**
 * Caches the quota report of a key for a short time, for requests that are refused before the quota step. No limit
 * applies to these requests. Without the cache, each of them would load the counters as much as an admitted request.
 */
import type { Clock } from '../platform/clock.js';
import type { QuotaCounts, QuotaDecision } from '../quota/model/policies.js';
import type { QuotaSubject } from '../quota/model/subject.js';

/**
 * How long a report is reused, in ms. A reused report can miss requests with other keys of the account, and requests on
 * other nodes. It never misses requests with its own key on this node.
 */
const MAX_AGE_MS = 100;
/** Maximum number of cached reports. When the cache is full, it is cleared. */
const MAX_REPORTS = 1_000;

interface Report {
  readonly decision: QuotaDecision;
  /** Time of the report, in ms since the epoch, by the clock of this node. */
  readonly atMs: number;
}

export class RecentReports {
  private readonly reports = new Map<QuotaSubject, Report>();

  constructor(private readonly clock: Clock) {}

  recordDecision(subject: QuotaSubject, decision: QuotaDecision): void {
    if (this.reports.size >= MAX_REPORTS) this.reports.clear();
    this.reports.set(subject, { decision, atMs: this.clock.now() });
  }

  /**
   * Returns the last report of a subject if it is still valid. Otherwise returns undefined, and the caller must read
   * the counters.
   */
  find(subject: QuotaSubject): QuotaDecision | undefined {
    const report = this.reports.get(subject);
    if (report === undefined) return undefined;
    const ageMs = this.clock.now() - report.atMs;
    // The age is negative if the clock was set back.
    if (ageMs >= 0 && ageMs < MAX_AGE_MS && areSame(subject.lastSeen, report.decision.used)) return report.decision;
    this.reports.delete(subject);
    return undefined;
  }
}

function areSame(seen: QuotaCounts | undefined, reported: Readonly<QuotaCounts>): boolean {
  return seen !== undefined && seen.every((count, index) => count === reported[index]);
}
