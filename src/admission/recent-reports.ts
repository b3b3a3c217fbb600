/**
 * What was last said of a key's quota, kept for an instant: for those who are refused before their quota is asked for.
 * Nothing limits them, and each of their requests would be as much work for the counters as one that is admitted.
 */
import type { Clock } from '../platform/clock.js';
import type { QuotaCounts, QuotaDecision } from '../quota/model/policies.js';
import type { QuotaSubject } from '../quota/model/subject.js';

/**
 * How late a report may be about what other keys of the account, or other nodes, have used; of the key's own requests
 * here it is not.
 */
const REPEATED_MS = 100;
/** Keys that are refused all the time are few; beyond, all are forgotten. */
const MOST_REPORTS = 1_000;

interface Report {
  readonly decision: QuotaDecision;
  /** By this node's clock, ms. */
  readonly atMs: number;
}

export class RecentReports {
  private readonly reports = new Map<QuotaSubject, Report>();

  constructor(private readonly clock: Clock) {}

  keep(subject: QuotaSubject, decision: QuotaDecision): void {
    if (this.reports.size >= MOST_REPORTS) this.reports.clear();
    this.reports.set(subject, { decision, atMs: this.clock.now() });
  }

  /** The last report, where it still holds; undefined: ask. */
  of(subject: QuotaSubject): QuotaDecision | undefined {
    const report = this.reports.get(subject);
    if (report === undefined) return undefined;
    const ageMs = this.clock.now() - report.atMs;
    // Negative: the clock went back, and nothing is known.
    if (ageMs >= 0 && ageMs < REPEATED_MS && areSame(subject.lastSeen, report.decision.used)) return report.decision;
    this.reports.delete(subject);
    return undefined;
  }
}

function areSame(seen: QuotaCounts | undefined, told: Readonly<QuotaCounts>): boolean {
  return seen !== undefined && seen.every((count, index) => count === told[index]);
}
