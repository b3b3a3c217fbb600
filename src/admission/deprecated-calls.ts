/** Reports which accounts still call deprecated operations, from the usage of the last `DEPRECATED_CALLS_DAYS` days. */
import { sql, type Kysely } from 'kysely';
import { apiOf } from '../config/model/apis.js';
import type { Config } from '../config/model/schema.js';
import type { Tables } from '../stores/database/schema.js';
import { labelOf } from '../quota/model/month-period.js';
import { SHADOW_REFUSED_NAME } from '../quota/model/usage-cell.js';
import type { Clock } from '../platform/clock.js';
import { retirementOf } from '../proxy/routing/retirement.js';
import { dateOf } from '../quota/usage/usage-query.js';

/** Number of days of usage in the report. The metric also counts accounts that call less often than once a week. */
export const DEPRECATED_CALLS_DAYS = 7;
/** Maximum number of callers in the report. The report contains the callers with the most requests. */
export const MAX_DEPRECATED_CALLERS = 100;
const DAY_MS = 86_400_000;

/** DeprecatedOperation is an operation that is deprecated or past its sunset, with its dates. */
export interface DeprecatedOperation {
  readonly operation: string;
  /** Time of the deprecation, in ms since the epoch. Null if only a sunset is configured. */
  readonly deprecatedMs: number | null;
  /** Time of the sunset, in ms since the epoch. Null if no sunset is configured. */
  readonly sunsetMs: number | null;
}

/** DeprecatedCaller is the usage of one deprecated operation by one account. */
export interface DeprecatedCaller {
  readonly operation: string;
  readonly accountId: string;
  readonly accountName: string;
  readonly requests: number;
  /** Last day with requests in the time zone of the account, for example `2026-11-22`. */
  readonly lastDay: string;
}

export interface DeprecatedCallsReport {
  readonly operations: readonly DeprecatedOperation[];
  readonly callers: readonly DeprecatedCaller[];
  /** Whether the report omits callers because of `MAX_DEPRECATED_CALLERS`. */
  readonly hasMore: boolean;
}

interface Row {
  readonly operation: string;
  readonly account_id: string;
  readonly name: string;
  readonly requests: number;
  readonly last_day: number;
}

export class DeprecatedCalls {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly config: () => Pick<Config, 'operations' | 'file' | 'publicUrl'>,
    private readonly clock: Clock,
  ) {}

  /**
   * Reads the report of the last `DEPRECATED_CALLS_DAYS` days. Queries the database only if an operation is deprecated.
   * Rejects if the query fails.
   */
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
      limit ${MAX_DEPRECATED_CALLERS + 1}
    `.execute(this.db);
    const callers = rows.slice(0, MAX_DEPRECATED_CALLERS).map(callerOf);
    return { operations, callers, hasMore: rows.length > MAX_DEPRECATED_CALLERS };
  }

  /**
   * Returns the operations that are deprecated or past their sunset, earliest sunset first. Operations without a sunset
   * come last.
   */
  private operations(nowMs: number): DeprecatedOperation[] {
    const { operations, file, publicUrl } = this.config();
    const found = operations.flatMap((operation) => {
      const retirement = retirementOf(operation, apiOf(file, operation.api), () => publicUrl);
      if (retirement === undefined || nowMs < Math.min(retirement.deprecatedFromMs, retirement.sunsetMs)) return [];
      const { deprecatedFromMs, sunsetMs } = retirement;
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
