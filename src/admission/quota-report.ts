/** The usage fields for responses that count nothing: a known key always learns what is left. */
import type { Clock } from '../platform/clock.js';
import { linesWithOwn, quotaLines, type OwnPolicy } from '../quota/model/headers.js';
import type { QuotaDecision } from '../quota/model/policies.js';
import type { QuotaSubject } from '../quota/model/subject.js';
import type { Limiter } from '../quota/limiter.js';
import type { AdmissionRequest } from './admission-request.js';
import { RecentReports } from './recent-reports.js';

/** ReportedRequest is what is told of its quota. */
type ReportedRequest = Pick<AdmissionRequest, 'subject' | 'quotaLines'>;

/** QuotaReport adds what is left to responses that count nothing. */
export class QuotaReport {
  private readonly recent: RecentReports;

  constructor(
    private readonly storage: Limiter,
    clock: Clock,
  ) {
    this.recent = new RecentReports(clock);
  }

  /**
   * Adds the fields of a request that costs nothing. Without counters to ask, the response goes out without them: it is
   * about something else and must not fail for want of these fields.
   * @param own a limit of the endpoint itself, which is told beside those of the plan.
   * @returns what to wait for; undefined where the counters answered at once. Never rejects.
   */
  addTo(request: ReportedRequest, own?: OwnPolicy): Promise<void> | undefined {
    const { subject } = request;
    return subject === undefined ? undefined : this.ask(request, subject, own);
  }

  /** The same for a request that is refused whatever its quota is: what was said a moment ago may be said again. */
  repeatTo(request: ReportedRequest): Promise<void> | undefined {
    const { subject } = request;
    if (subject === undefined) return undefined;
    const known = this.recent.of(subject);
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
      // These counters are in this process, and are asked as quickly as anything could be kept.
      append(request, subject, decision, own);
    } catch {
      // As above.
    }
    return undefined;
  }
}

function append(request: ReportedRequest, subject: QuotaSubject, decision: QuotaDecision, own?: OwnPolicy): void {
  const lines = quotaLines(subject, decision);
  request.quotaLines = own === undefined ? lines : linesWithOwn(lines, own);
}

function ignore(): void {
  // As above.
}
