/** The usage fields for answers that count nothing: a known key always learns what is left. */
import { Injectable } from '@nestjs/common';
import { systemClock } from '../clock.js';
import { quotaLines } from '../quotas/headers.js';
import type { QuotaDecision } from '../quotas/policies.js';
import type { QuotaSubject } from '../quotas/subject.js';
import { QuotaStorage } from '../quotas/quota-storage.js';
import type { Exchange } from './exchange.js';
import { RecentReports } from './recent-reports.js';

@Injectable()
export class QuotaReport {
  private readonly recent = new RecentReports(systemClock);

  constructor(private readonly storage: QuotaStorage) {}

  /**
   * Adds the fields of a request that costs nothing. Without counters to ask, the answer goes out without them: it is about something
   * else and must not fail for want of these fields.
   * @returns what to wait for; undefined where the counters answered at once. Never rejects.
   */
  addTo(exchange: Exchange): Promise<void> | undefined {
    const { subject } = exchange;
    return subject === undefined ? undefined : this.ask(exchange, subject, append);
  }

  /** The same for a request that is refused whatever its quota is: what was said a moment ago may be said again. */
  repeatTo(exchange: Exchange): Promise<void> | undefined {
    const { subject } = exchange;
    if (subject === undefined) return undefined;
    const known = this.recent.of(subject);
    if (known === undefined) return this.ask(exchange, subject, this.appendAndKeep);
    append(exchange, subject, known);
    return undefined;
  }

  private ask(exchange: Exchange, subject: QuotaSubject, told: typeof append): Promise<void> | undefined {
    try {
      const decision = this.storage.decide(subject, 0);
      if (decision instanceof Promise) return decision.then((made) => told(exchange, subject, made)).catch(ignore);
      // These counters are in this process, and are asked as quickly as anything could be kept.
      append(exchange, subject, decision);
    } catch {
      // As above.
    }
    return undefined;
  }

  private readonly appendAndKeep: typeof append = (exchange, subject, decision) => {
    append(exchange, subject, decision);
    this.recent.keep(subject, decision);
  };
}

function append(exchange: Exchange, subject: QuotaSubject, decision: QuotaDecision): void {
  exchange.answerLines += quotaLines(subject, decision);
}

function ignore(): void {
  // As above.
}
