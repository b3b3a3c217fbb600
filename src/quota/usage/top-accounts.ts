/**
 * Reads the accounts nearest to their month limit, and the sum of the others, for the metrics. Processes with the
 * worker role read the accounts from the database at intervals, in steps of a few thousand accounts with pauses. If a
 * reading fails, the metrics keep their previous values.
 */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Clock } from '../../platform/clock.js';
import type { GatewayFile } from '../../config/model/schema.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import { jsonRows } from '../../stores/database/json-rows.js';
import type { Tables } from '../../stores/database/schema.js';
import type { Logger } from '../../platform/log.js';
import { OTHER_ACCOUNTS } from '../../platform/metrics/limit-metrics.js';
import { METRICS } from '../../platform/metrics.js';
import { calendarOf, type MonthPeriod } from '../model/month-period.js';

/** Minimum pause between two readings, in ms. */
const INTERVAL_MS = 15_000;
/** The pause between two readings is at least this many times the duration of the last reading. */
const PAUSE_FACTOR = 4;
/** Counters per statement. Such a statement takes a few milliseconds. */
const COUNTERS_AT_ONCE = 5_000;
/**
 * Length of the pause after a step, as a multiple of the step's duration. The pauses leave most of the database's time
 * to other users.
 */
const STEP_PAUSE_FACTOR = 4;
/** Minimum elapsed time of a month in forecasts, in ms. A forecast from less than a day would be too inaccurate. */
const SHORTEST_ELAPSED_MS = 86_400_000;
/** Scale of the forecast factor. The database gets the factor as a whole number of 1/`PART`. */
const PART = 1_000;

/**
 * Selects the counters of accounts, not of keys. The empty string is a literal and not a bound parameter, because only
 * then can the database use the partial index `quota_counter_of_accounts`.
 */
const OF_ACCOUNTS = sql<boolean>`api_key_id = ''`;

/** TopAccountsSettings returns the current settings. It is called at each reading. */
export type TopAccountsSettings = () => Pick<GatewayFile, 'plans' | 'metrics'>;

/** AccountUse is the usage of an account in the current month, with its month limit and forecast. */
interface AccountUse {
  readonly accountId: string;
  readonly plan: string;
  readonly used: number;
  readonly limit: number;
  readonly forecast: number;
}

interface UseRow {
  readonly account_id: string;
  readonly plan: string;
  readonly used: number;
  readonly month_limit: number;
  readonly forecast: number;
  readonly all_used: number;
  readonly all_limit: number;
  readonly all_forecast: number;
}

/** Ranking holds the accounts with the highest share of their limit read so far, and the sums over all accounts. */
class Ranking {
  top: AccountUse[] = [];
  readonly all = { used: 0, limit: 0, forecast: 0 };

  constructor(private readonly most: number) {}

  add(rows: readonly UseRow[]): void {
    const [first] = rows;
    if (first === undefined) return;
    this.all.used += first.all_used;
    this.all.limit += first.all_limit;
    this.all.forecast += first.all_forecast;
    const more = rows.map((row) => ({
      accountId: row.account_id,
      plan: row.plan,
      used: row.used,
      limit: row.month_limit,
      forecast: row.forecast,
    }));
    this.top = [...this.top, ...more].toSorted((a, b) => b.used / b.limit - a.used / a.limit).slice(0, this.most);
  }

  /** Returns the accounts with the highest share, and a row with the sums over all other accounts. */
  rows(): AccountUse[] {
    const rest = (of: 'used' | 'limit' | 'forecast'): number =>
      Math.max(0, this.all[of] - this.top.reduce((sum, account) => sum + account[of], 0));
    const [used, limit, forecast] = [rest('used'), rest('limit'), rest('forecast')];
    return [...this.top, { accountId: OTHER_ACCOUNTS, plan: OTHER_ACCOUNTS, used, limit, forecast }];
  }
}

/** TopAccounts reads the accounts nearest to their month limit at intervals, and shows them in the metrics. */
export class TopAccounts {
  private timer: NodeJS.Timeout | undefined;
  /** Ends the current pause between two steps. */
  private wake: (() => void) | undefined;
  private reading: Promise<void> | undefined;
  private isStopped = false;

  constructor(
    private readonly db: Kysely<Tables>,
    private readonly kind: DatabaseHandle['kind'],
    private readonly settings: TopAccountsSettings,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    METRICS.topAccountsTime.series().set(0);
  }

  /** Reads now, and again at intervals. */
  start(): void {
    const startedMs = performance.now();
    this.reading = this.read()
      .catch((error: unknown) => {
        if (this.isStopped) return;
        this.log.warn(
          { event: 'top_accounts_failed', err: error },
          'The accounts nearest to their limit could not be read; the metrics keep their previous values',
        );
      })
      .finally(() => {
        if (this.isStopped) return;
        const pauseMs = Math.max(INTERVAL_MS, PAUSE_FACTOR * (performance.now() - startedMs));
        this.timer = setTimeout(() => this.start(), pauseMs);
        this.timer.unref();
      });
  }

  /** Stops reading. Resolves when no reading runs any more. Never rejects. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.wake?.();
    await this.reading;
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /**
   * Reads once and updates the metrics. Rejects if the database does, and leaves the metrics unchanged in this case.
   */
  async read(): Promise<void> {
    const { plans, metrics } = this.settings();
    const ranking = new Ranking(metrics.topAccounts);
    const limits = limitsOf(plans);
    if (metrics.topAccounts > 0 && limits !== undefined) await this.rank(ranking, limits);
    if (this.isStopped) return;
    const rows = metrics.topAccounts > 0 ? ranking.rows() : [];
    METRICS.topAccountUsed.show(rows.map(({ accountId, plan, used }) => [[accountId, plan], used]));
    METRICS.topAccountLimit.show(rows.map(({ accountId, plan, limit }) => [[accountId, plan], limit]));
    METRICS.topAccountForecast.show(rows.map(({ accountId, plan, forecast }) => [[accountId, plan], forecast]));
    METRICS.topAccountsTime.series().set(this.clock.now() / 1_000);
  }

  /** Reads all accounts step by step into the ranking. */
  private async rank(ranking: Ranking, limits: RawBuilder<unknown>): Promise<void> {
    const { calendars, earliest } = await this.calendars();
    for (let label = await this.labelFrom(earliest); label !== undefined; label = await this.labelFrom(label + 1)) {
      for (let after = ''; ;) {
        const startedMs = performance.now();
        const last = await this.lastOf(label, after);
        if (last === undefined) break;
        ranking.add(await this.ofAccounts(label, after, last, { limits, calendars }));
        after = last;
        if (this.isStopped) return;
        await this.pause(STEP_PAUSE_FACTOR * (performance.now() - startedMs));
      }
    }
  }

  /**
   * Returns the current month of each combination of time zone and billing day, as a table, and the earliest month
   * label.
   */
  private async calendars(): Promise<{ calendars: RawBuilder<unknown>; earliest: number }> {
    const found = await this.db.selectFrom('account').select(['time_zone', 'billing_day']).distinct().execute();
    const now = this.clock.now();
    const rows = found.map(({ time_zone: zone, billing_day: day }) => {
      const period = calendarOf(zone, day).at(now);
      return [zone, day, period.label, stretchOf(period, now)] as const;
    });
    const columns = [
      { name: 'time_zone', type: 'text' },
      { name: 'billing_day', type: 'bigint' },
      { name: 'label', type: 'bigint' },
      { name: 'stretch', type: 'bigint' },
    ] as const;
    const earliest = rows.reduce((least, [, , label]) => Math.min(least, label), Infinity);
    return { calendars: jsonRows(this.kind, columns, rows, 'k'), earliest };
  }

  /**
   * Returns the lowest month label of any account's counter that is not below `label`. Returns undefined if there is
   * none.
   */
  private async labelFrom(label: number): Promise<number | undefined> {
    if (label === Infinity) return undefined;
    const row = await this.db
      .selectFrom('quota_counter')
      .select('period')
      .where(OF_ACCOUNTS)
      .where('period', '>=', label)
      .orderBy('period')
      .limit(1)
      .executeTakeFirst();
    return row?.period;
  }

  /**
   * Returns the ID of the last account of the step that begins after `after`. Returns undefined if no account is left.
   */
  private async lastOf(label: number, after: string): Promise<string | undefined> {
    const step = this.db
      .selectFrom('quota_counter')
      .select('account_id')
      .where(OF_ACCOUNTS)
      .where('period', '=', label)
      .where('account_id', '>', after)
      .orderBy('account_id')
      .limit(COUNTERS_AT_ONCE);
    const row = await this.db
      .selectFrom(step.as('step'))
      .select(({ fn }) => fn.max('account_id').as('last'))
      .executeTakeFirst();
    return row?.last ?? undefined;
  }

  /**
   * Returns the accounts of a step that have used the highest share of their limit, among accounts whose current month
   * has this label. Each row has the sums over all accounts of the step.
   */
  private async ofAccounts(
    label: number,
    after: string,
    last: string,
    { limits, calendars }: { readonly limits: RawBuilder<unknown>; readonly calendars: RawBuilder<unknown> },
  ): Promise<readonly UseRow[]> {
    const { rows } = await sql<UseRow>`
      with k as materialized (select * from ${calendars}), u as materialized (
        select a.id as account_id, a.plan as plan, c.used as used,
          ${limits} + case when a.grant_period >= k.label then a.grant_amount else 0 end as month_limit,
          cast(c.used as double precision) * k.stretch / ${sql.lit(PART)} as forecast
        from quota_counter as c
        join account as a on a.id = c.account_id
        join k on k.time_zone = a.time_zone and k.billing_day = a.billing_day
        where c.${OF_ACCOUNTS} and c.period = cast(${label} as bigint)
          and c.account_id > ${after} and c.account_id <= ${last}
          and a.status = 'active' and k.label <= c.period
      ), counted as materialized (select * from u where month_limit > 0)
      select account_id, plan, used, month_limit, forecast,
        (select cast(sum(used) as double precision) from counted) as all_used,
        (select cast(sum(month_limit) as double precision) from counted) as all_limit,
        (select sum(forecast) from counted) as all_forecast
      from counted
      order by cast(used as double precision) / month_limit desc, account_id
      limit ${this.settings().metrics.topAccounts}
    `.execute(this.db);
    return rows;
  }
}

/**
 * Returns SQL for the month limit of an account's plan. The SQL value is null for plans without a limit. Returns
 * undefined if no plan has a limit.
 */
function limitsOf(plans: GatewayFile['plans']): RawBuilder<unknown> | undefined {
  const cases = Object.entries(plans).flatMap(([plan, { account }]) =>
    account.month === undefined ? [] : [sql`when ${plan} then ${sql.lit(account.month)}`],
  );
  return cases.length === 0 ? undefined : sql`case a.plan ${sql.join(cases, sql` `)} end`;
}

/** Returns the factor by which the usage so far is multiplied to forecast the whole month, in units of 1/`PART`. */
function stretchOf({ startMs, endMs }: MonthPeriod, nowMs: number): number {
  const elapsedMs = Math.max(SHORTEST_ELAPSED_MS, nowMs - startMs);
  return Math.max(PART, Math.round((PART * (endMs - startMs)) / elapsedMs));
}
