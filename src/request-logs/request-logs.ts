/** The log as it is kept now: what is older than `usage.requestLogRetention` is not shown, deleted or not. */
import type { Clock } from '../platform/clock.js';
import { keptSinceMs } from './days.js';
import type { RequestLogQuery } from './request-log-query.js';
import type { LoggedRequest, RequestLogPage, RequestLogReader } from './request-log-reader.js';

const NOTHING: RequestLogPage = { data: [], hasMore: false, nextCursor: null };

/** RequestLogs is what can be read of the log. */
export class RequestLogs {
  /** @param retentionDays as the configuration says now; 0: none is kept. */
  constructor(
    private readonly reader: Pick<RequestLogReader, 'page' | 'find'>,
    private readonly retentionDays: () => number,
    private readonly clock: Clock,
  ) {}

  /** The first instant that is kept; undefined: none is. */
  get keptSinceMs(): number | undefined {
    const days = this.retentionDays();
    return days === 0 ? undefined : keptSinceMs(this.clock.now(), days);
  }

  /** A page of an account's requests. Rejects with `invalid_cursor`, or as the database does. */
  async page(accountId: string, query: RequestLogQuery): Promise<RequestLogPage> {
    const since = this.keptSinceMs;
    if (since === undefined) return NOTHING;
    return this.reader.page(accountId, { ...query, from: Math.max(query.from, since) });
  }

  /** The latest request with this id; undefined where there is none. */
  async find(accountId: string, requestId: string, granted?: readonly string[]): Promise<LoggedRequest | undefined> {
    const since = this.keptSinceMs;
    return since === undefined ? undefined : this.reader.find(accountId, requestId, since, granted);
  }
}
