/** The usage fields for answers that count nothing: a known key always learns what is left. */
import { Injectable } from '@nestjs/common';
import { systemClock } from '../../platform/clock.js';
import { linesWithOwn, quotaLines, type OwnPolicy } from '../../limits/model/headers.js';
import type { QuotaDecision } from '../../limits/model/policies.js';
import type { QuotaSubject } from '../../limits/model/subject.js';
import { QuotaStorage } from '../../limits/quota-storage.js';
import type { Exchange } from '../request/exchange.js';
import { RecentReports } from './recent-reports.js';

@Injectable()
export class QuotaReport {
  private readonly recent = new RecentReports(systemClock);

  constructor(private readonly storage: QuotaStorage) {}

  /**
   * Adds the fields of a request that costs nothing. Without counters to ask, the answer goes out without them: it is about something
   * else and must not fail for want of these fields.
   * @param own a limit of the endpoint itself, which is told beside those of the plan.
   * @returns what to wait for; undefined where the counters answered at once. Never rejects.
   */
  addTo(exchange: Exchange, own?: OwnPolicy): Promise<void> | undefined {
    const { subject } = exchange;
    return subject === undefined ? undefined : this.ask(exchange, subject, own);
  }

  /** The same for a request that is refused whatever its quota is: what was said a moment ago may be said again. */
  repeatTo(exchange: Exchange): Promise<void> | undefined {
    const { subject } = exchange;
    if (subject === undefined) return undefined;
    const known = this.recent.of(subject);
    if (known === undefined) return this.ask(exchange, subject, undefined);
    append(exchange, subject, known);
    return undefined;
  }

  private ask(exchange: Exchange, subject: QuotaSubject, own: OwnPolicy | undefined): Promise<void> | undefined {
    try {
      const decision = this.storage.decide(subject, 0);
      if (decision instanceof Promise) {
        return decision
          .then((made) => {
            append(exchange, subject, made, own);
            this.recent.keep(subject, made);
          })
          .catch(ignore);
      }
      // These counters are in this process, and are asked as quickly as anything could be kept.
      append(exchange, subject, decision, own);
    } catch {
      // As above.
    }
    return undefined;
  }
}

function append(exchange: Exchange, subject: QuotaSubject, decision: QuotaDecision, own?: OwnPolicy): void {
  const lines = quotaLines(subject, decision);
  exchange.quotaLines = own === undefined ? lines : linesWithOwn(lines, own);
}

function ignore(): void {
  // As above.
}
