/** Who still calls what is deprecated: out of the usage of the last days, for operators who are about to end it. */
import { sql, type Kysely } from 'kysely';
import type { Config } from '../config/model/schema.js';
import type { Tables } from '../stores/database/schema.js';
import { labelOf } from '../quota/model/month-period.js';
import { SHADOW_REFUSED_NAME } from '../quota/model/usage-cell.js';
import type { Clock } from '../platform/clock.js';
import { endingOf } from '../proxy/routing/ending.js';
import { dateOf } from '../quota/usage/usage-query.js';

/** How far back it looks: who calls less often than once a week is found by the metric. */
export const DEPRECATED_CALLS_DAYS = 7;
/** Of more callers than these, those with the most requests are told. */
export const MOST_DEPRECATED_CALLERS = 100;
const DAY_MS = 86_400_000;

/** An operation that is deprecated, or will have ended by a date. */
export interface DeprecatedOperation {
  readonly operation: string;
  /** ms; null: only its end is said. */
  readonly deprecatedMs: number | null;
  /** ms; null: that is not decided. */
  readonly sunsetMs: number | null;
}

/** What one account has called of one operation. */
export interface DeprecatedCaller {
  readonly operation: string;
  readonly accountId: string;
  readonly accountName: string;
  readonly requests: number;
  /** In the account's zone, `2026-11-22`. */
  readonly lastDay: string;
}

export interface DeprecatedCallsReport {
  readonly operations: readonly DeprecatedOperation[];
  readonly callers: readonly DeprecatedCaller[];
  /** Whether there are more than are told. */
  readonly hasMore: boolean;
}

interface Row {
  readonly operation: string;
  readonly account_id: string;
  readonly name: string;
  readonly requests: number;
  readonly last_day: number;
}

/** DeprecatedCalls reads who they are. */
export class DeprecatedCalls {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly config: () => Pick<Config, 'operations' | 'file' | 'publicUrl'>,
    private readonly clock: Clock,
  ) {}

  /** One statement, by the index of days; none where nothing is deprecated. */
  async read(): Promise<DeprecatedCallsReport> {
    const nowMs = this.clock.now();
    const operations = this.operations(nowMs);
    if (operations.length === 0) return { operations, callers: [], hasMore: false };
    const ids = operations.map(({ operation }) => operation);
    const from = Temporal.Instant.fromEpochMilliseconds(nowMs - DEPRECATED_CALLS_DAYS * DAY_MS);
    const { rows } = await sql<Row>`
      select usage_daily.operation, usage_daily.account_id, account.name,
        cast(sum(requests) as bigint) as requests, max(day) as last_day
      from usage_daily join account on account.id = usage_daily.account_id
      where day >= ${labelOf(from.toZonedDateTimeISO('UTC').toPlainDate())} and operation in (${sql.join(ids)})
        and outcome <> ${SHADOW_REFUSED_NAME}
      group by usage_daily.operation, usage_daily.account_id, account.name
      having sum(requests) > 0
      order by sum(requests) desc, usage_daily.account_id, usage_daily.operation
      limit ${MOST_DEPRECATED_CALLERS + 1}
    `.execute(this.db);
    const callers = rows.slice(0, MOST_DEPRECATED_CALLERS).map(callerOf);
    return { operations, callers, hasMore: rows.length > MOST_DEPRECATED_CALLERS };
  }

  /** What is deprecated now, or has ended; the next to end first. */
  private operations(nowMs: number): DeprecatedOperation[] {
    const { operations, file, publicUrl } = this.config();
    const found = operations.flatMap((operation) => {
      const ending = endingOf(operation, file.api, () => publicUrl);
      if (ending === undefined || nowMs < Math.min(ending.deprecatedFromMs, ending.sunsetMs)) return [];
      const { deprecatedFromMs, sunsetMs } = ending;
      return [{ operation: operation.id, deprecatedMs: dateOrNull(deprecatedFromMs), sunsetMs: dateOrNull(sunsetMs) }];
    });
    return found.toSorted((a, b) => (a.sunsetMs ?? Infinity) - (b.sunsetMs ?? Infinity));
  }
}

function dateOrNull(ms: number): number | null {
  return ms === Infinity ? null : ms;
}

function callerOf({ operation, account_id, name, requests, last_day }: Row): DeprecatedCaller {
  return { operation, accountId: account_id, accountName: name, requests, lastDay: dateOf(last_day) };
}
