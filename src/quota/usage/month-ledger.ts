/**
 * Month counts on their way to the database: what a restart or an emptied Redis starts again from, and what a bill is
 * written from. Notes on the request path what has changed, and hands it to the flush, account by account.
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

/** Counters in this process: they say how many there are, where of shared ones the last that was seen has to do. */
export interface ExactCounts {
  /** Month counts of a subject, the last ones of a month that has ended among them; empty where there are none. */
  monthUsed(subject: QuotaSubject): readonly ExactCount[];
}

/**
 * What waits of one account. One is made for every account between two flushes: most have a subject or few, of one
 * month.
 */
class WaitingAccount {
  /** Each once. */
  readonly subjects: QuotaSubject[];
  /** Last counts of months that ended before they were written. */
  ended: CounterRow[] | undefined = undefined;
  /** The months of subjects whose counts were noted in another one than those of the rest. */
  private others: Map<QuotaSubject, MonthPeriod> | undefined = undefined;

  constructor(
    subject: QuotaSubject,
    private readonly period: MonthPeriod,
  ) {
    this.subjects = [subject];
  }

  /** @returns whether it did not wait yet. */
  note(subject: QuotaSubject, period: MonthPeriod): boolean {
    // One that waits already does so with the month before.
    const isNew = subject.dirtyMonth === 0 || !this.subjects.includes(subject);
    if (isNew) this.subjects.push(subject);
    if (isSame(period, this.period)) this.others?.delete(subject);
    else (this.others ??= new Map()).set(subject, period);
    return isNew;
  }

  /** Takes the subjects of another. */
  join(other: WaitingAccount): void {
    for (const subject of other.subjects) if (!this.subjects.includes(subject)) this.subjects.push(subject);
  }

  /** The month that a subject's counts were noted in. */
  periodOf(subject: QuotaSubject): MonthPeriod {
    return this.others?.get(subject) ?? this.period;
  }
}

function isSame(one: MonthPeriod, other: MonthPeriod): boolean {
  return one.label === other.label && one.startMs === other.startMs && one.endMs === other.endMs;
}

/** MonthLedger notes which counts have changed, hands them to the flush, and reads what was written. */
export class MonthLedger implements MonthSource {
  private readonly waiting = new Map<string, WaitingAccount>();
  /** Since when the oldest change waits, ms; 0: none does. */
  oldestMs = 0;
  /** Keys whose counts wait, each with its account's. */
  length = 0;
  /** What was handed out lately, the latest first: others may have read the database before it stood there. */
  private handedOut: Map<string, WaitingAccount>[] = [new Map(), new Map(), new Map()];
  private wasWritten = false;
  /**
   * The latest set of a count that was read: a process that starts with its clock set back observes later than that.
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

  /** Remembers that a subject's counts have changed. On the request path: one comparison when they already had. */
  note(subject: QuotaSubject, decision: Pick<QuotaDecision, 'period'>): void {
    if (subject.dirtyMonth !== decision.period.label) this.wait(subject, decision.period);
  }

  /**
   * Remembers a refusal by a month's limit: nothing has been counted, but where the limit was lowered below what is
   * used, its notices are due. Once for each subject and month, because a changed limit is another subject.
   */
  noteRefusal(subject: QuotaSubject, decision: Pick<QuotaDecision, 'period' | 'violated'>): void {
    if ((decision.violated & CALENDAR_BITS) === 0) return;
    const reached = subject.reachedLimits();
    if (reached.refusedMonth === decision.period.label) return;
    reached.refusedMonth = decision.period.label;
    this.note(subject, decision);
  }

  /** Notes what a store says of a subject's month beside its decisions. */
  saw(subject: QuotaSubject, seen: CalendarSeen): void {
    const { period, nowMs } = seen;
    if (subject.lastSeenMonth !== period.label) this.monthEnded(subject);
    subject.see(withCalendarCounts(subject.lastSeen ?? NOTHING_USED, seen), nowMs, period);
    this.note(subject, { period });
  }

  /** Keeps the last counts of a month before what is seen of the next one takes their place. */
  monthEnded(subject: QuotaSubject): void {
    if (subject.dirtyMonth === 0) return;
    const account = this.waiting.get(subject.accountId);
    if (account !== undefined) (account.ended ??= []).push(...lastSeen(subject));
  }

  /** Of the keys of an account whose counts wait, the one that saw the account last; undefined where none waits. */
  lastOf(accountId: string): QuotaSubject | undefined {
    let last: QuotaSubject | undefined;
    for (const subject of this.waiting.get(accountId)?.subjects ?? []) {
      if (last === undefined || subject.lastSeenAtMs > last.lastSeenAtMs) last = subject;
    }
    return last;
  }

  /**
   * Keys of an account whose counts wait, or were written so lately that whoever reads the database may not have found
   * them.
   */
  *seenLately(accountId: string): Generator<QuotaSubject> {
    for (const accounts of [this.waiting, ...this.handedOut]) yield* accounts.get(accountId)?.subjects ?? [];
  }

  /** The same of all accounts. */
  *allSeenLately(): Generator<QuotaSubject> {
    for (const accounts of [this.waiting, ...this.handedOut]) {
      for (const { subjects } of accounts.values()) yield* subjects;
    }
  }

  /** Everything that was handed out stands in the database. */
  written(): void {
    this.wasWritten = true;
  }

  /**
   * Forgets what has stood in the database since the last time, and longer. Call it as often as what others have read
   * may be old.
   */
  forgetWritten(): void {
    if (!this.wasWritten) return;
    this.wasWritten = false;
    this.handedOut = [new Map(), ...this.handedOut.slice(0, -1)];
  }

  /** Accounts with counts that wait. */
  accounts(): string[] {
    return [...this.waiting.keys()];
  }

  /**
   * Hands out the counts of an account with the notices that they make due, and forgets them: what is counted from here
   * on is noted again.
   * @param exact where the counters live in this process.
   */
  take(accountId: string, counters: CounterRow[], notices: MonthNotice[], exact?: ExactCounts): void {
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

  private remember(accountId: string, account: WaitingAccount): void {
    const [latest] = this.handedOut;
    const known = latest!.get(accountId);
    if (known === undefined) latest!.set(accountId, account);
    else known.join(account);
  }

  private noticesOf(subject: QuotaSubject, noted: MonthPeriod, counts: readonly CounterRow[]): readonly MonthNotice[] {
    // Of each the current month comes first.
    const account = counts.find(({ keyId }) => keyId === '');
    const key = counts.find(({ keyId }) => keyId === subject.keyId);
    if (account === undefined || key === undefined) return [];
    const period = account.month === noted.label ? noted : subject.calendar.at(this.clock.now());
    return noticesDue(subject, period, { account, key });
  }

  private countsOf(subject: QuotaSubject, period: MonthPeriod, exact: ExactCounts | undefined): CounterRow[] {
    const { accountId, keyId } = subject;
    if (exact === undefined) return subject.lastSeenMonth === period.label ? lastSeen(subject) : [];
    return exact.monthUsed(subject).map(({ of, month, used, day, observedAtMs }) => {
      const row = { accountId, keyId: of === 'key' ? keyId : '', month, used, ...(day && { day }) };
      return { ...row, observedAtMs: Math.max(observedAtMs, this.latestSetMs) };
    });
  }

  private wait(subject: QuotaSubject, period: MonthPeriod): void {
    if (this.waiting.size === 0) this.oldestMs = this.clock.now();
    const account = this.waiting.get(subject.accountId);
    if (account === undefined) {
      const first = new WaitingAccount(subject, period);
      this.waiting.set(subject.accountId, first);
      this.length += first.subjects.length;
    } else if (account.note(subject, period)) this.length += 1;
    subject.dirtyMonth = period.label;
  }
}

/** Rows of one account: of two observations of a count the later one, of the same instant the higher one. */
class LatestRows {
  private readonly rows = new Map<string, CounterRow>();
  /** Of nearly all of them: they need no name that says the month. */
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

/** The counts that the store last reported, in the month that they were counted in. */
function lastSeen({
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
