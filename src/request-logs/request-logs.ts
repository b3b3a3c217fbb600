/** Read access to the log. Hides rows older than `usage.requestLogRetention`, deleted or not. */
import type { Clock } from '../platform/clock.js';
import { keptSinceMs } from './days.js';
import type { RequestLogQuery } from './request-log-query.js';
import type { LoggedRequest, RequestLogPage, RequestLogReader } from './request-log-reader.js';

const NOTHING: RequestLogPage = { data: [], hasMore: false, nextCursor: null };

/** RequestLogs reads rows within the retention. */
export class RequestLogs {
  /** @param retentionDays returns the current setting; 0 if no log is kept. */
  constructor(
    private readonly reader: Pick<RequestLogReader, 'page' | 'find'>,
    private readonly retentionDays: () => number,
    private readonly clock: Clock,
  ) {}

  /** Start of retention. Undefined if no log is kept. */
  get keptSinceMs(): number | undefined {
    const days = this.retentionDays();
    return days === 0 ? undefined : keptSinceMs(this.clock.now(), days);
  }

  /** Returns a page of an account's requests. Rejects with `invalid_cursor` or the database's error. */
  async page(accountId: string, query: RequestLogQuery): Promise<RequestLogPage> {
    const since = this.keptSinceMs;
    if (since === undefined) return NOTHING;
    return this.reader.page(accountId, { ...query, from: Math.max(query.from, since) });
  }

  /** Returns the latest request with this ID, or undefined. */
  async find(accountId: string, requestId: string, granted?: readonly string[]): Promise<LoggedRequest | undefined> {
    const since = this.keptSinceMs;
    return since === undefined ? undefined : this.reader.find(accountId, requestId, since, granted);
  }
}
