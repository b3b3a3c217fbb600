/** The usage fields for answers that count nothing: a known key always learns what is left. */
import { Injectable } from '@nestjs/common';
import { appendQuotaFields } from '../quotas/headers.js';
import { QuotaStorage } from '../quotas/quota-storage.js';
import type { Exchange } from './exchange.js';

@Injectable()
export class QuotaReport {
  constructor(private readonly storage: QuotaStorage) {}

  /** Adds the fields of a request that costs nothing. Without counters to ask, the answer goes out without them. */
  async addTo(exchange: Exchange): Promise<void> {
    const { subject } = exchange;
    if (subject === undefined) return;
    try {
      appendQuotaFields(exchange.answerHeaders, subject, await this.storage.decide(subject, 0));
    } catch {
      // The answer is about something else and must not fail for want of these fields.
    }
  }
}
