/** Adds quota headers to responses that use no quota. */
import type { Clock } from '../platform/clock.js';
import { linesWithOwn, quotaLines, type OwnPolicy } from '../quota/model/headers.js';
import type { QuotaDecision } from '../quota/model/policies.js';
import type { QuotaSubject } from '../quota/model/subject.js';
import type { Limiter } from '../quota/limiter.js';
import type { AdmissionRequest } from './admission-request.js';
import { RecentReports } from './recent-reports.js';

type ReportedRequest = Pick<AdmissionRequest, 'subject' | 'quotaLines'>;

/** QuotaReport sets the quota header lines of requests that use no quota. */
export class QuotaReport {
  private readonly recent: RecentReports;

  constructor(
    private readonly storage: Limiter,
    clock: Clock,
  ) {
    this.recent = new RecentReports(clock);
  }

  /**
   * Sets the header lines. If the counters are unavailable, the response has none, because it must not fail for them.
   * @param own a limit of the endpoint, reported in addition to those of the plan.
   * @returns a promise that never rejects, or undefined if the lines are already set or the request has no subject.
   */
  addTo(request: ReportedRequest, own?: OwnPolicy): Promise<void> | undefined {
    const { subject } = request;
    return subject === undefined ? undefined : this.ask(request, subject, own);
  }

  /** Does the same for a refused request, for which a recent report can be reused. */
  repeatTo(request: ReportedRequest): Promise<void> | undefined {
    const { subject } = request;
    if (subject === undefined) return undefined;
    const known = this.recent.find(subject);
    if (known === undefined) return this.ask(request, subject, undefined);
    append(request, subject, known);
    return undefined;
  }

  private ask(request: ReportedRequest, subject: QuotaSubject, own: OwnPolicy | undefined): Promise<void> | undefined {
    try {
      const decision = this.storage.decide(subject, 0);
      if (decision instanceof Promise) {
        return decision
          .then((made) => {
            append(request, subject, made, own);
            this.recent.keep(subject, made);
          })
          .catch(ignore);
      }
      // Counters in this process are as fast as the cache.
      append(request, subject, decision, own);
    } catch {
      // The response goes out without the headers.
    }
    return undefined;
  }
}

function append(request: ReportedRequest, subject: QuotaSubject, decision: QuotaDecision, own?: OwnPolicy): void {
  const lines = quotaLines(subject, decision);
  request.quotaLines = own === undefined ? lines : linesWithOwn(lines, own);
}

function ignore(): void {
  // The response goes out without the headers.
}
