/** The usage fields for answers that count nothing: a known key always learns what is left. */
import { Injectable } from '@nestjs/common';
import { quotaLines } from '../quotas/headers.js';
import type { QuotaDecision, QuotaSubject } from '../quotas/policies.js';
import { QuotaStorage } from '../quotas/quota-storage.js';
import type { Exchange } from './exchange.js';

@Injectable()
export class QuotaReport {
  constructor(private readonly storage: QuotaStorage) {}

  /**
   * Adds the fields of a request that costs nothing. Without counters to ask, the answer goes out without them: it is about something
   * else and must not fail for want of these fields.
   * @returns what to wait for; undefined where the counters answered at once. Never rejects.
   */
  addTo(exchange: Exchange): Promise<void> | undefined {
    const { subject } = exchange;
    if (subject === undefined) return undefined;
    try {
      const decision = this.storage.decide(subject, 0);
      if (decision instanceof Promise) return decision.then((made) => append(exchange, subject, made)).catch(ignore);
      append(exchange, subject, decision);
    } catch {
      // As above.
    }
    return undefined;
  }
}

function append(exchange: Exchange, subject: QuotaSubject, decision: QuotaDecision): void {
  exchange.answerLines += quotaLines(subject, decision);
}

function ignore(): void {
  // As above.
}
