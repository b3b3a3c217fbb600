/**
 * Creates usage reports for `/usage` and the admin API. Reading a report counts no request. While the counters are
 * unavailable, reports are approximate.
 */
import type { Clock } from '../platform/clock.js';
import type { GatewayFile } from '../config/model/schema.js';
import type { ParameterError } from '../platform/problems/parameter-problem.js';
import { formatWithOffset } from '../platform/rfc3339.js';
import { limitedWindows, remainingQuota, resetMsOf } from './model/headers.js';
import { effectiveLimits, type LimitChanges } from './model/effective-limits.js';
import { calendarOf } from './model/month-period.js';
import type { Limiter } from './limiter.js';
import type { QuotaSubject } from './model/subject.js';
import { dateOf, LARGEST_USAGE_PAGE, usageQuery, type UsageParameters, type UsageQuery } from './usage/usage-query.js';
import { PACE_DAYS, usageForecast, type UsageForecast } from './usage-forecast.js';
import type { UsageRow, UsageRows } from './usage/usage-rows.js';

const DAY_MS = 86_400_000;

/**
 * UsageWindow is one window of a usage report. `resets_at` is RFC 3339 with the UTC offset of the account's time zone.
 */
export interface UsageWindow {
  readonly policy: string;
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  readonly resets_at: string;
}

/** UsageReport is the usage of an account, and of one of its keys, in each window. */
export interface UsageReport {
  readonly account_id: string;
  readonly api_key_id: string | null;
  readonly plan: string;
  /** Present if the counters could not be read. The windows have the counts that this process and the database know. */
  readonly approximate?: true;
  readonly windows: readonly UsageWindow[];
}

/** UsageSubject identifies the account or key of a report, with the settings that determine its limits. */
export interface UsageSubject {
  readonly accountId: string;
  /** Undefined for a report on the account's windows only. */
  readonly keyId: string | undefined;
  readonly plan: string;
  readonly timeZone: string;
  readonly billingDay: number;
  /** Overrides and grants that change the plan's limits for this account or key. */
  readonly limitChanges: LimitChanges;
}

/** UsageRowsReport is a report with a page of usage rows. */
export interface UsageRowsReport extends UsageReport {
  /** First and last day of the rows. */
  readonly from: string;
  readonly to: string;
  readonly data: readonly UsageRow[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** UsageReader creates the reports of `/usage` and of the admin API. */
export class UsageReader {
  constructor(
    private plans: GatewayFile['plans'],
    private readonly limiter: Limiter,
    readonly rows: UsageRows,
    private readonly clock: Clock,
  ) {}

  /** Replaces the plans. Reports that are read afterwards use the new limits. */
  replacePlans(plans: GatewayFile['plans']): void {
    this.plans = plans;
  }

  /**
   * Parses the query parameters, with days in the account's calendar. Returns undefined if the query requests no rows.
   * @param found errors that were found before. The Problem contains them together with new errors.
   * @throws Problem `invalid_parameter`
   */
  parseQuery(
    parameters: UsageParameters,
    account: Pick<UsageSubject, 'timeZone' | 'billingDay'>,
    found?: readonly ParameterError[],
  ): UsageQuery | undefined {
    return usageQuery(parameters, calendarOf(account.timeZone, account.billingDay), this.clock.now(), found);
  }

  /**
   * Reads the report, and a page of rows if there is a query. Rejects if either read fails.
   * @param counted the key's subject, if the caller has it. Its counts are used while the counters are unavailable.
   */
  async readWithRows(
    subject: UsageSubject,
    query: UsageQuery | undefined,
    counted?: QuotaSubject,
  ): Promise<UsageReport | UsageRowsReport> {
    if (query === undefined) return this.read(subject, counted);
    const [report, page] = await Promise.all([this.read(subject, counted), this.rows.readPage(subject, query)]);
    return {
      ...report,
      from: dateOf(query.from),
      to: dateOf(query.to),
      data: page.data,
      has_more: page.nextCursor !== null,
      next_cursor: page.nextCursor,
    };
  }

  /**
   * Forecasts the month limits of a report, for the account and the key.
   * @param sinceMs when the account was created.
   */
  async readForecasts(subject: UsageSubject, { windows }: UsageReport, sinceMs: number): Promise<UsageForecast[]> {
    const { accountId, keyId, timeZone, billingDay } = subject;
    const calendar = calendarOf(timeZone, billingDay);
    const nowMs = this.clock.now();
    const today = calendar.dayAt(nowMs);
    const time = { nowMs, today, month: calendar.at(nowMs), timeZone, sinceMs };
    const from = calendar.dayAt(today.startMs - PACE_DAYS * DAY_MS).label;
    const query = { from, to: today.label, limit: LARGEST_USAGE_PAGE, cursor: undefined };
    const ofMonths = windows.filter(({ policy }) => policy.endsWith('-month'));
    return Promise.all(
      ofMonths.map(async (window) => {
        const owner = { accountId, keyId: window.policy.startsWith('key') ? keyId : undefined };
        const { data } = await this.rows.readPage(owner, { ...query, groups: ['day', 'outcome'] });
        return usageForecast(window, data, time);
      }),
    );
  }

  /**
   * Reads the limits and counts of an account, and of one of its keys. Returns no windows if the plan does not exist.
   * Rejects if neither the counters, this process nor the database can provide the counts.
   */
  private async read(subject: UsageSubject, counted: QuotaSubject | undefined): Promise<UsageReport> {
    const plan = Object.hasOwn(this.plans, subject.plan) ? this.plans[subject.plan] : undefined;
    const calendar = calendarOf(subject.timeZone, subject.billingDay);
    const reading = await this.limiter.readOrEstimate(subject.accountId, subject.keyId, calendar, counted);
    const { used, period } = reading;
    const windows =
      plan === undefined ? [] : limitedWindows(effectiveLimits(plan, subject.limitChanges, period.label), used);
    return {
      account_id: subject.accountId,
      api_key_id: subject.keyId ?? null,
      plan: subject.plan,
      ...(reading.isApproximate ? { approximate: true } : {}),
      windows: windows
        .filter(({ window }) => window.of === 'account' || subject.keyId !== undefined)
        .map(({ window, limit, used }) => ({
          policy: window.name,
          limit,
          used,
          remaining: remainingQuota(limit, used),
          resets_at: formatWithOffset(Math.max(resetMsOf(window, reading), reading.nowMs), subject.timeZone),
        })),
    };
  }
}
