/**
 * Holds the month counts that wait to be written to the database. After a restart, and after Redis was emptied,
 * counting continues from the written counts. Bills are also based on them. The request path marks changed counts, and
 * the flush takes the changed counts account by account.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '../../platform/clock.js';
import type { Tables } from '../../stores/database/schema.js';
import {
  NOTHING_WRITTEN,
  type ExactCount,
  type CalendarSeen,
  type MonthSource,
  type WrittenCount,
  type WrittenMonth,
} from '../model/counter-store.js';
import { noticesDue, type MonthNotice } from './month-notices.js';
import type { MonthPeriod } from '../model/month-period.js';
import { CALENDAR_BITS } from '../../platform/quotas/windows.js';
import { accountCountIn, keyCountIn, withCalendarCounts, type CalendarCount } from '../model/calendar-count.js';
import { NOTHING_USED, type QuotaDecision } from '../model/policies.js';
import type { QuotaSubject } from '../model/subject.js';
import type { CounterRow } from './usage-table.js';

/**
 * ExactCounts provides the current counts of counters in this process. For shared counters, the last observed counts
 * are used instead.
 */
export interface ExactCounts {
  /**
   * Returns the month counts of a subject, including the last counts of a month that has ended. Empty if the subject
   * has no counters.
   */
  monthUsed(subject: QuotaSubject): readonly ExactCount[];
}

/** WaitingAccount holds the waiting counts of one account. Most accounts have one or a few subjects, in one month. */
class WaitingAccount {
  /** The account's subjects with waiting counts, without duplicates. */
  readonly subjects: QuotaSubject[];
  /** Last counts of months that ended before they were written. */
  ended: CounterRow[] | undefined = undefined;
  /** Periods of the subjects that were counted in another period than `period`. */
  private others: Map<QuotaSubject, MonthPeriod> | undefined = undefined;

  constructor(
    subject: QuotaSubject,
    private readonly period: MonthPeriod,
  ) {
    this.subjects = [subject];
  }

  /**
   * Adds a subject that was counted in a period.
   * @returns whether the subject was not waiting yet.
   */
  addSubject(subject: QuotaSubject, period: MonthPeriod): boolean {
    // If the subject is already waiting, `dirtyMonth` has the label of its previous month.
    const isNew = subject.dirtyMonth === 0 || !this.subjects.includes(subject);
    if (isNew) this.subjects.push(subject);
    if (isSame(period, this.period)) this.others?.delete(subject);
    else (this.others ??= new Map()).set(subject, period);
    return isNew;
  }

  /** Adds the subjects of another waiting account. */
  addAll(other: WaitingAccount): void {
    for (const subject of other.subjects) if (!this.subjects.includes(subject)) this.subjects.push(subject);
  }

  /** Returns the period in which a subject was counted. */
  periodOf(subject: QuotaSubject): MonthPeriod {
    return this.others?.get(subject) ?? this.period;
  }
}

function isSame(one: MonthPeriod, other: MonthPeriod): boolean {
  return one.label === other.label && one.startMs === other.startMs && one.endMs === other.endMs;
}

/** MonthLedger records which counts have changed, hands them to the flush, and reads the written counts. */
export class MonthLedger implements MonthSource {
  private readonly waiting = new Map<string, WaitingAccount>();
  /** When the oldest waiting change was recorded, in ms. 0 if no change waits. */
  oldestMs = 0;
  /** Number of waiting keys. Each is written with the counts of its account. */
  length = 0;
  /**
   * Recently taken accounts, latest first. Other nodes may have read the database before the counts of these accounts
   * were written.
   */
  private recentlyTaken: Map<string, WaitingAccount>[] = [new Map(), new Map(), new Map()];
  private wasWritten = false;
  /**
   * Latest time at which an operator set a count, as read from the database. If this process's clock was set back,
   * later observations must still have a later time.
   */
  private latestSetMs = 0;

  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
  ) {}

  async usedInMonth(accountId: string, keyId: string | undefined, period: MonthPeriod): Promise<WrittenMonth> {
    const rows = await this.db
      .selectFrom('quota_counter')
      .select(['api_key_id', 'period', 'used', 'day', 'day_used', 'set_at', 'observed_at', 'observed_us'])
      .where('account_id', '=', accountId)
      .where('period', '>=', period.label)
      .where('api_key_id', 'in', ['', keyId ?? ''])
      .execute();
    for (const { set_at: setMs } of rows) this.latestSetMs = Math.max(this.latestSetMs, setMs);
    const countOf = (id: string): WrittenCount => {
      const counts = rows.filter((row) => row.api_key_id === id);
      const now = counts.find((row) => row.period === period.label);
      return {
        used: now?.used ?? 0,
        observedAtMs: now === undefined ? 0 : now.observed_at + now.observed_us / 1_000,
        setAtMs: now?.set_at ?? 0,
        ...(now && { day: { day: now.day, used: now.day_used } }),
        later: counts
          .filter((row) => row.period >= period.following)
          .map((row) => ({ month: row.period, used: row.used })),
      };
    };
    return { account: countOf(''), key: keyId === undefined ? NOTHING_WRITTEN : countOf(keyId) };
  }

  /** Records that a subject's counts have changed. Hot path: only one comparison if the counts are already marked. */
  markChanged(subject: QuotaSubject, decision: Pick<QuotaDecision, 'period'>): void {
    if (subject.dirtyMonth !== decision.period.label) this.addWaiting(subject, decision.period);
  }

  /**
   * Records a refusal by a month limit or a day limit, so that the next flush checks for usage notices. A notice can be
   * due without a counted request if a limit was lowered below the usage. Records one refusal per subject and month,
   * because a changed limit creates a new subject.
   */
  recordRefusal(subject: QuotaSubject, decision: Pick<QuotaDecision, 'period' | 'violated'>): void {
    if ((decision.violated & CALENDAR_BITS) === 0) return;
    const reached = subject.reachedLimits();
    if (reached.refusedMonth === decision.period.label) return;
    reached.refusedMonth = decision.period.label;
    this.markChanged(subject, decision);
  }

  /** Records the calendar counts that a store reported outside of decisions, such as after a replay. */
  recordSeen(subject: QuotaSubject, seen: CalendarSeen): void {
    const { period, nowMs } = seen;
    if (subject.lastSeenMonth !== period.label) this.keepEndedMonth(subject);
    subject.recordSeen(withCalendarCounts(subject.lastSeen ?? NOTHING_USED, seen), nowMs, period);
    this.markChanged(subject, { period });
  }

  /**
   * Keeps the waiting counts of a subject. Call it before counts of another month replace these counts on the subject.
   */
  keepEndedMonth(subject: QuotaSubject): void {
    if (subject.dirtyMonth === 0) return;
    const account = this.waiting.get(subject.accountId);
    if (account !== undefined) (account.ended ??= []).push(...lastSeenRows(subject));
  }

  /**
   * Returns the subject that last saw an account's counts, among the account's subjects with waiting counts. Returns
   * undefined if the account has no waiting counts.
   */
  findLatestSubject(accountId: string): QuotaSubject | undefined {
    let last: QuotaSubject | undefined;
    for (const subject of this.waiting.get(accountId)?.subjects ?? []) {
      if (last === undefined || subject.lastSeenAtMs > last.lastSeenAtMs) last = subject;
    }
    return last;
  }

  /**
   * Returns the keys of an account whose counts wait, or were written so recently that another node may not have read
   * them.
   */
  *recentSubjects(accountId: string): Generator<QuotaSubject> {
    for (const accounts of [this.waiting, ...this.recentlyTaken]) yield* accounts.get(accountId)?.subjects ?? [];
  }

  /** Returns the subjects that `recentSubjects` returns, for all accounts. */
  *allRecentSubjects(): Generator<QuotaSubject> {
    for (const accounts of [this.waiting, ...this.recentlyTaken]) {
      for (const { subjects } of accounts.values()) yield* subjects;
    }
  }

  /** Records that all counts taken so far are in the database. */
  markWritten(): void {
    this.wasWritten = true;
  }

  /**
   * Forgets the accounts that were taken three calls ago or earlier. A call has no effect, and does not count, if no
   * flush has completed since the last effective call. Call it at intervals of at least `LONGEST_SEED_MS`, because
   * reads of other nodes can be outdated by this time.
   */
  forgetWritten(): void {
    if (!this.wasWritten) return;
    this.wasWritten = false;
    this.recentlyTaken = [new Map(), ...this.recentlyTaken.slice(0, -1)];
  }

  /** Returns the accounts with waiting counts. */
  waitingAccounts(): string[] {
    return [...this.waiting.keys()];
  }

  /**
   * Removes the waiting counts of an account, and adds rows for them to `counters`. Adds the notices that may be due to
   * `notices`. Later changes wait for the next call.
   * @param exact the counters, if they are in this process.
   */
  takeAccount(accountId: string, counters: CounterRow[], notices: MonthNotice[], exact?: ExactCounts): void {
    const account = this.waiting.get(accountId);
    if (account === undefined) return;
    this.waiting.delete(accountId);
    if (exact === undefined) this.remember(accountId, account);
    this.length -= account.subjects.length;
    if (this.waiting.size === 0) this.oldestMs = 0;
    const rows = new LatestRows();
    for (const row of account.ended ?? []) rows.put(row);
    for (const subject of account.subjects) {
      const period = account.periodOf(subject);
      subject.dirtyMonth = 0;
      const counts = this.countsOf(subject, period, exact);
      for (const row of counts) rows.put(row);
      notices.push(...this.noticesOf(subject, period, counts));
    }
    counters.push(...rows.values());
  }

  /** Remembers a taken account for `recentSubjects`. */
  private remember(accountId: string, account: WaitingAccount): void {
    const [latest] = this.recentlyTaken;
    const known = latest!.get(accountId);
    if (known === undefined) latest!.set(accountId, account);
    else known.addAll(account);
  }

  private noticesOf(subject: QuotaSubject, marked: MonthPeriod, counts: readonly CounterRow[]): readonly MonthNotice[] {
    // For both the account and the key, the row of the current month comes first.
    const account = counts.find(({ keyId }) => keyId === '');
    const key = counts.find(({ keyId }) => keyId === subject.keyId);
    if (account === undefined || key === undefined) return [];
    const period = account.month === marked.label ? marked : subject.calendar.at(this.clock.now());
    return noticesDue(subject, period, { account, key });
  }

  private countsOf(subject: QuotaSubject, period: MonthPeriod, exact: ExactCounts | undefined): CounterRow[] {
    const { accountId, keyId } = subject;
    if (exact === undefined) return subject.lastSeenMonth === period.label ? lastSeenRows(subject) : [];
    return exact.monthUsed(subject).map(({ of, month, used, day, observedAtMs }) => {
      const row = { accountId, keyId: of === 'key' ? keyId : '', month, used, ...(day && { day }) };
      return { ...row, observedAtMs: Math.max(observedAtMs, this.latestSetMs) };
    });
  }

  private addWaiting(subject: QuotaSubject, period: MonthPeriod): void {
    if (this.waiting.size === 0) this.oldestMs = this.clock.now();
    const account = this.waiting.get(subject.accountId);
    if (account === undefined) {
      const first = new WaitingAccount(subject, period);
      this.waiting.set(subject.accountId, first);
      this.length += first.subjects.length;
    } else if (account.addSubject(subject, period)) this.length += 1;
    subject.dirtyMonth = period.label;
  }
}

/**
 * LatestRows holds the rows of one account. Of two observations of a count, it keeps the later observation. At the same
 * instant, it keeps the higher count.
 */
class LatestRows {
  private readonly rows = new Map<string, CounterRow>();
  /** Month of nearly all rows. The map keys of these rows omit the month. */
  private month = 0;

  put(row: CounterRow): void {
    if (this.month === 0) this.month = row.month;
    const name = row.month === this.month ? row.keyId : `${row.keyId}/${row.month}`;
    const known = this.rows.get(name);
    const isOlder =
      known !== undefined &&
      (row.observedAtMs < known.observedAtMs || (row.observedAtMs === known.observedAtMs && row.used < known.used));
    if (!isOlder) this.rows.set(name, row);
  }

  values(): Iterable<CounterRow> {
    return this.rows.values();
  }
}

/** Returns the rows of the counts that the store last reported for a subject. */
function lastSeenRows({
  accountId,
  keyId,
  lastSeen: seen,
  lastSeenMonth: month,
  lastSeenDay,
  lastSeenAtMs: observedAtMs,
}: QuotaSubject): CounterRow[] {
  if (seen === undefined) return [];
  const rowOf = (of: string, { used, usedToday }: CalendarCount): CounterRow => {
    return { accountId, keyId: of, month, used, day: { day: lastSeenDay, used: usedToday }, observedAtMs };
  };
  return [rowOf('', accountCountIn(seen)), rowOf(keyId, keyCountIn(seen))];
}
