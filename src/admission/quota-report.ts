/**
 * Adds quota headers to responses that the quota step has not prepared, such as refusals, replays and the usage
 * endpoint.
 */
import type { Clock } from '../platform/clock.js';
import { linesWithOwn, quotaLines, type OwnPolicy } from '../quota/model/headers.js';
import type { QuotaDecision } from '../quota/model/policies.js';
import type { QuotaSubject } from '../quota/model/subject.js';
import type { Limiter } from '../quota/limiter.js';
import type { AdmissionRequest } from './admission-request.js';
import { RecentReports } from './recent-reports.js';

type ReportedRequest = Pick<AdmissionRequest, 'subject' | 'quotaLines'>;

/** QuotaReport reads the counters without counting a request, and sets the quota header lines. */
export class QuotaReport {
  private readonly recent: RecentReports;

  constructor(
    private readonly limiter: Limiter,
    clock: Clock,
  ) {
    this.recent = new RecentReports(clock);
  }

  /**
   * Sets the quota header lines of a request. If the counters are unavailable, the response has no quota headers, but
   * does not fail.
   * @param own a limit of the endpoint, reported in addition to those of the plan.
   * @returns a promise that never rejects. Undefined if the lines are already set or the request has no subject.
   */
  addTo(request: ReportedRequest, own?: OwnPolicy): Promise<void> | undefined {
    const { subject } = request;
    return subject === undefined ? undefined : this.read(request, subject, own);
  }

  /**
   * Sets the quota header lines of a refused or replayed request. Reuses a recent report of the same key if there is
   * one. Returns the same values as `addTo`.
   */
  repeatTo(request: ReportedRequest): Promise<void> | undefined {
    const { subject } = request;
    if (subject === undefined) return undefined;
    const known = this.recent.find(subject);
    if (known === undefined) return this.read(request, subject, undefined);
    setLines(request, subject, known);
    return undefined;
  }

  private read(request: ReportedRequest, subject: QuotaSubject, own: OwnPolicy | undefined): Promise<void> | undefined {
    try {
      const decision = this.limiter.decide(subject, 0);
      if (decision instanceof Promise) {
        return decision
          .then((late) => {
            setLines(request, subject, late, own);
            this.recent.recordDecision(subject, late);
          })
          .catch(ignore);
      }
      // Don't cache this report. Reading counters in this process is as fast as reading the cache.
      setLines(request, subject, decision, own);
    } catch {
      // Send the response without the headers.
    }
    return undefined;
  }
}

function setLines(request: ReportedRequest, subject: QuotaSubject, decision: QuotaDecision, own?: OwnPolicy): void {
  const lines = quotaLines(subject, decision);
  request.quotaLines = own === undefined ? lines : linesWithOwn(lines, own);
}

function ignore(): void {
  // Send the response without the headers.
}
