/**
 * Caches the quota report of a key for a short time, for requests that are refused before the quota step. No quota
 * limits such requests, and without the cache each would cost the counters as much as an admitted one.
 */
import type { Clock } from '../platform/clock.js';
import type { QuotaCounts, QuotaDecision } from '../quota/model/policies.js';
import type { QuotaSubject } from '../quota/model/subject.js';

/**
 * How long a report is reused. It may miss requests of other keys of the account and on other nodes, but not the key's
 * own requests here.
 */
const REPEATED_MS = 100;
/** Maximum number of reports. Above it, the cache is cleared. */
const MOST_REPORTS = 1_000;

interface Report {
  readonly decision: QuotaDecision;
  /** Time by this node's clock, ms. */
  readonly atMs: number;
}

export class RecentReports {
  private readonly reports = new Map<QuotaSubject, Report>();

  constructor(private readonly clock: Clock) {}

  keep(subject: QuotaSubject, decision: QuotaDecision): void {
    if (this.reports.size >= MOST_REPORTS) this.reports.clear();
    this.reports.set(subject, { decision, atMs: this.clock.now() });
  }

  /** Returns the last report if it is still valid. Otherwise, the caller must query the counters. */
  find(subject: QuotaSubject): QuotaDecision | undefined {
    const report = this.reports.get(subject);
    if (report === undefined) return undefined;
    const ageMs = this.clock.now() - report.atMs;
    // A negative age means that the clock was set back.
    if (ageMs >= 0 && ageMs < REPEATED_MS && areSame(subject.lastSeen, report.decision.used)) return report.decision;
    this.reports.delete(subject);
    return undefined;
  }
}

function areSame(seen: QuotaCounts | undefined, reported: Readonly<QuotaCounts>): boolean {
  return seen !== undefined && seen.every((count, index) => count === reported[index]);
}
