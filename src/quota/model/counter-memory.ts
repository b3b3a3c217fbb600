/**
 * Remembers counters that Redis may have lost. It keeps the last counts that this node saw before the loss, and the
 * costs that this node has counted since. When a lost counter is created again, it is young for some seconds
 * (`redis/scripts/young-counters.ts`). Each node reports both to Redis during this time. Counters that were not lost
 * use no memory in this class.
 */
import { accountCountIn, keyCountIn, type CalendarCount, type DayCount } from './calendar-count.js';
import type { CalendarSeen } from './counter-store.js';
import type { MonthPeriod } from './month-period.js';
import type { QuotaSubject } from './subject.js';

/**
 * How long an account is remembered after its counters were last recalled. This is slightly longer than counters are
 * young, because Redis can be emptied again before every node has reported.
 */
const KEPT_MS = 12_000;
/**
 * Maximum number of entries in a log. Later costs are added to the last entry. If Redis is emptied twice, this can
 * count a cost twice, but never loses a cost.
 */
const LONGEST_LOG = 1_000;

const NO_DAY: DayCount = { day: 0, used: 0 };

/** Remembered holds the counts that this node knows of one counter. */
export class Remembered {
  /** Costs that this node has counted since the loss: time (ms, Redis's clock) and cost, alternating. */
  private readonly log: number[] = [];

  constructor(
    /**
     * The last month count that this node saw before the loss (`used`), and when it saw the count (`atMs`; 0 for
     * never). `day` is the part of the count that belongs to one day.
     */
    readonly used = 0,
    readonly atMs = 0,
    private readonly day: DayCount = NO_DAY,
  ) {}

  /** Adds a cost to the log. Negative costs are refunds. */
  recordCost(cost: number, atMs: number): void {
    const { log } = this;
    const last = log.length - 2;
    if (last >= 0 && (log[last]! >= atMs || last >= LONGEST_LOG * 2)) {
      log[last] = Math.max(log[last]!, atMs);
      log[last + 1] = log[last + 1]! + cost;
    } else {
      log.push(atMs, cost);
    }
  }

  /** Returns the four arguments of `SEED_LUA` that contain the node's counts of this counter. */
  seedArguments({ day }: MonthPeriod): (string | number)[] {
    const log = this.log.map((number, index) => (index % 2 === 0 ? toMicroseconds(number) : number));
    const usedToday = this.day.day === day.label ? this.day.used : 0;
    return [this.used, toMicroseconds(this.atMs), this.used - usedToday, log.join(' ')];
  }

  /**
   * Returns the later of this observation and another one. At the same instant, the higher count is considered later.
   */
  orLater({ used, usedToday }: CalendarCount, atMs: number, day: number): Remembered {
    const isLater = atMs > this.atMs || (atMs === this.atMs && used > this.used);
    return isLater ? new Remembered(used, atMs, { day, used: usedToday }) : this;
  }
}

/** RememberedAccount holds the recently created counters of an account, which may have been lost before. */
class RememberedAccount {
  readonly keys = new Map<string, Remembered>();
  account = new Remembered();
  /** When the account can be forgotten, by `nowMs`. */
  endsMs = 0;
  /** Number of reports of this account that are in flight. */
  reportsInFlight = 0;
  /** Whether the account was counted before, so that its counters were lost. If not, the account is most likely new. */
  isLoss = false;

  constructor(
    readonly month: number,
    readonly createdMs: number,
  ) {}
}

/** Converts an instant from milliseconds to whole microseconds. */
export function toMicroseconds(ms: number): number {
  return Math.round(ms * 1_000);
}

/** LastSeenCounts provides observed counts that the database may not have yet, and records new observations. */
export interface LastSeenCounts {
  /** Returns the keys of an account whose counts the database may not have yet. */
  recentSubjects(accountId: string): Iterable<QuotaSubject>;
  recordSeen(subject: QuotaSubject, seen: CalendarSeen): void;
}

const NOWHERE: LastSeenCounts = { recentSubjects: () => [], recordSeen: () => {} };

/** CounterMemory remembers counts for counters that Redis may have lost. */
export class CounterMemory {
  private readonly accounts = new Map<string, RememberedAccount>();
  /** Until this instant (by `nowMs`), a missing counter was most likely lost, because Redis was emptied. */
  private lossUntilMs = -Infinity;

  constructor(
    private readonly seenCounts: LastSeenCounts = NOWHERE,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Reports whether any account is remembered. */
  get isBusy(): boolean {
    return this.accounts.size > 0;
  }

  /**
   * Returns the counts that this node knows for an account and a key whose counters are being created again.
   * Afterwards, `recordCost` logs the costs of these counters.
   * @param period only counts of this month are used.
   * @param subject the key's subject, if the caller has it.
   */
  takeKnownCounts(
    accountId: string,
    keyId: string | undefined,
    { label: month }: MonthPeriod,
    subject?: QuotaSubject,
  ): { readonly account: Remembered; readonly key: Remembered } {
    const known = this.accountIn(accountId, month, subject);
    known.endsMs = this.nowMs() + KEPT_MS;
    if (keyId === undefined) return { account: known.account, key: new Remembered() };
    let key = known.keys.get(keyId);
    if (key === undefined) {
      key = new Remembered();
      for (const seen of this.seenIn(accountId, month, subject)) {
        if (seen.keyId === keyId) key = key.orLater(seen.key, seen.atMs, seen.day);
      }
      known.keys.set(keyId, key);
    }
    if (key.atMs > 0) known.isLoss = true;
    return { account: known.account, key };
  }

  /**
   * Marks a report of the account as in flight, so that the account is not forgotten.
   * @returns a function to call when the report has arrived or failed.
   */
  beginReport(accountId: string): () => void {
    const known = this.accounts.get(accountId);
    if (known !== undefined) known.reportsInFlight += 1;
    return () => {
      if (known !== undefined) known.reportsInFlight -= 1;
    };
  }

  /** Records the counts of a subject that the store returned for this node's report. */
  recordReported(subject: QuotaSubject, seen: CalendarSeen): void {
    this.seenCounts.recordSeen(subject, seen);
  }

  /** Marks the account's counters as lost, because the account was counted before. */
  markLost(accountId: string): void {
    const known = this.accounts.get(accountId);
    if (known !== undefined) known.isLoss = true;
  }

  /** Records a cost that this node counted for an account and a key. Negative costs are refunds. */
  recordCost(
    accountId: string,
    keyId: string,
    month: number,
    costs: { account: number; key: number },
    atMs: number,
  ): void {
    const known = this.accounts.get(accountId);
    if (known?.month !== month) return;
    if (costs.account !== 0) known.account.recordCost(costs.account, atMs);
    if (costs.key !== 0) known.keys.get(keyId)?.recordCost(costs.key, atMs);
  }

  /**
   * Reports whether the account's counts must not be written to the database yet, because other nodes may still have to
   * report theirs. Forgets the account when its retention has ended.
   */
  holdsBack(accountId: string): boolean {
    const known = this.accounts.get(accountId);
    if (known === undefined) return false;
    if (known.endsMs > this.nowMs()) return true;
    this.accounts.delete(accountId);
    return false;
  }

  /**
   * Marks every remembered account as lost, because Redis was emptied. Accounts that are recalled soon afterwards are
   * marked too.
   */
  markAllLost(): void {
    this.lossUntilMs = this.nowMs() + KEPT_MS;
    for (const account of this.accounts.values()) account.isLoss = true;
  }

  /**
   * Forgets accounts that turned out to be new, and accounts whose retention has ended. Keeps accounts with reports in
   * flight. Call it when Redis reports that it was not emptied before `askedMs` (by `nowMs`).
   */
  forgetNewAccounts(askedMs: number): void {
    const nowMs = this.nowMs();
    for (const [accountId, { endsMs, isLoss, createdMs, reportsInFlight }] of this.accounts) {
      // Keep an account with a report in flight. The report can arrive at a Redis that was emptied after `askedMs`.
      const isOver = endsMs <= nowMs || (!isLoss && createdMs < askedMs);
      if (isOver && reportsInFlight === 0) this.accounts.delete(accountId);
    }
  }

  private accountIn(accountId: string, month: number, subject: QuotaSubject | undefined): RememberedAccount {
    const known = this.accounts.get(accountId);
    if (known !== undefined && known.month === month && known.endsMs > this.nowMs()) return known;
    const nowMs = this.nowMs();
    const added = new RememberedAccount(month, nowMs);
    added.isLoss = nowMs < this.lossUntilMs;
    // Recall all keys now, because later observations already contain counts of the new counter.
    for (const { keyId, account, key, atMs, day } of this.seenIn(accountId, month, subject)) {
      added.account = added.account.orLater(account, atMs, day);
      added.keys.set(keyId, (added.keys.get(keyId) ?? new Remembered()).orLater(key, atMs, day));
      added.isLoss = true;
    }
    this.accounts.set(accountId, added);
    return added;
  }

  /** Yields the counts that this node last saw of an account's keys in a month. */
  private *seenIn(
    accountId: string,
    month: number,
    subject: QuotaSubject | undefined,
  ): Generator<{ keyId: string; account: CalendarCount; key: CalendarCount; atMs: number; day: number }> {
    const subjects = new Set(this.seenCounts.recentSubjects(accountId));
    if (subject !== undefined) subjects.add(subject);
    for (const { keyId, lastSeen, lastSeenMonth, lastSeenDay: day, lastSeenAtMs: atMs } of subjects) {
      if (lastSeen === undefined || lastSeenMonth !== month) continue;
      yield { keyId, account: accountCountIn(lastSeen), key: keyCountIn(lastSeen), atMs, day };
    }
  }
}
