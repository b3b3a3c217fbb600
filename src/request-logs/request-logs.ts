/** Reads the request log. Hides rows that are older than `usage.requestLogRetention` and not deleted yet. */
import type { Clock } from '../platform/clock.js';
import { keptSinceMs } from './days.js';
import type { RequestLogQuery } from './request-log-query.js';
import type { LoggedRequest, RequestLogPage, RequestLogReader } from './request-log-reader.js';

const EMPTY_PAGE: RequestLogPage = { data: [], hasMore: false, nextCursor: null };

/** RequestLogs reads rows within the retention. */
export class RequestLogs {
  /** @param retentionDays returns the current number of days; 0 keeps no request log. */
  constructor(
    private readonly reader: Pick<RequestLogReader, 'readPage' | 'find'>,
    private readonly retentionDays: () => number,
    private readonly clock: Clock,
  ) {}

  /** Start of the retention in milliseconds since the epoch; undefined if no request log is kept. */
  get keptSinceMs(): number | undefined {
    const days = this.retentionDays();
    return days === 0 ? undefined : keptSinceMs(this.clock.now(), days);
  }

  /**
   * Returns a page of an account's requests; an empty page if no request log is kept. Rejects with `invalid_cursor` or
   * the database's error.
   */
  async readPage(accountId: string, query: RequestLogQuery): Promise<RequestLogPage> {
    const since = this.keptSinceMs;
    if (since === undefined) return EMPTY_PAGE;
    return this.reader.readPage(accountId, { ...query, from: Math.max(query.from, since) });
  }

  /** Returns the latest request with this ID; undefined if the log has no such request, or the request is too old. */
  async find(accountId: string, requestId: string, granted?: readonly string[]): Promise<LoggedRequest | undefined> {
    const since = this.keptSinceMs;
    return since === undefined ? undefined : this.reader.find(accountId, requestId, since, granted);
  }
}
