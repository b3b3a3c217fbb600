/**
 * What this node knows of counters that Redis may have lost: the last counts that it saw before, and what it counted
 * itself since. Both are handed in where a counter is created anew. Nothing is done here for a counter that is not
 * young.
 */
import { accountCountIn, keyCountIn, type CalendarCount, type DayCount } from './calendar-count.js';
import type { CalendarSeen } from './counter-store.js';
import type { MonthPeriod } from './month-period.js';
import type { QuotaSubject } from './subject.js';

/**
 * Kept for so long after it was last handed in, a little longer than counters are young: Redis may be emptied again
 * before all have.
 */
const KEPT_MS = 12_000;
/**
 * Most instants of a log; what is counted later counts as one with the last. Errs towards counting twice, in a Redis
 * emptied twice.
 */
const LONGEST_LOG = 1_000;

const NO_DAY: DayCount = { day: 0, used: 0 };

/** Of one counter. */
export class Remembered {
  /** Instants (ms of Redis's time) and costs in turn: what this node counted since the loss. */
  private readonly log: number[] = [];

  constructor(
    /** The last count seen before the loss, what of it was of which day, and when that was, ms; 0: none was. */
    readonly used = 0,
    readonly atMs = 0,
    private readonly day: DayCount = NO_DAY,
  ) {}

  count(cost: number, atMs: number): void {
    const { log } = this;
    const last = log.length - 2;
    if (last >= 0 && (log[last]! >= atMs || last >= LONGEST_LOG * 2)) {
      log[last] = Math.max(log[last]!, atMs);
      log[last + 1] = log[last + 1]! + cost;
    } else {
      log.push(atMs, cost);
    }
  }

  /** Arguments of `SEED_LUA` for a period of the month. */
  argumentsIn({ day }: MonthPeriod): (string | number)[] {
    const log = this.log.map((number, index) => (index % 2 === 0 ? microseconds(number) : number));
    const usedToday = this.day.day === day.label ? this.day.used : 0;
    return [this.used, microseconds(this.atMs), this.used - usedToday, log.join(' ')];
  }

  /** The later of the two; of the same instant the higher one is later. */
  orSeen({ used, usedToday }: CalendarCount, atMs: number, day: number): Remembered {
    const isLater = atMs > this.atMs || (atMs === this.atMs && used > this.used);
    return isLater ? new Remembered(used, atMs, { day, used: usedToday }) : this;
  }
}

/** An account whose counters were created lately. */
class RememberedAccount {
  readonly keys = new Map<string, Remembered>();
  account = new Remembered();
  endsMs = 0;
  /** How often it is being handed in. */
  underWay = 0;
  /** Whether anybody had counted there before; else it is most likely a new one. */
  isLoss = false;

  constructor(
    readonly month: number,
    readonly createdMs: number,
  ) {}
}

/** Microseconds of an instant in milliseconds. */
export function microseconds(ms: number): number {
  return Math.round(ms * 1_000);
}

/** Where observations wait for the database. */
export interface SeenCounts {
  /** Keys of an account whose counts the database may not have yet. */
  seenLately(accountId: string): Iterable<QuotaSubject>;
  saw(subject: QuotaSubject, seen: CalendarSeen): void;
}

const NOWHERE: SeenCounts = { seenLately: () => [], saw: () => {} };

/** CounterMemory remembers counts for counters that Redis may have lost. */
export class CounterMemory {
  private readonly accounts = new Map<string, RememberedAccount>();
  /** Until when whatever is created has most likely been lost. */
  private lossUntilMs = -Infinity;

  constructor(
    private readonly seenCounts: SeenCounts = NOWHERE,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Whether anything has to be remembered of what is counted. */
  get isBusy(): boolean {
    return this.accounts.size > 0;
  }

  /**
   * What this node knows of the counters of an account and a key that are created anew; from here on it remembers what
   * it counts there.
   * @param period counts of other months are of no use.
   * @param subject of the key, where a request of it is at hand.
   */
  recall(
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
        if (seen.keyId === keyId) key = key.orSeen(seen.key, seen.atMs, seen.day);
      }
      known.keys.set(keyId, key);
    }
    if (key.atMs > 0) known.isLoss = true;
    return { account: known.account, key };
  }

  /**
   * Says that what was recalled of an account is on its way to Redis.
   * @returns what is to be called when it has arrived, or failed.
   */
  sending(accountId: string): () => void {
    const known = this.accounts.get(accountId);
    if (known !== undefined) known.underWay += 1;
    return () => {
      if (known !== undefined) known.underWay -= 1;
    };
  }

  /** Notes what a subject's counters came to when this node had handed in. */
  saw(subject: QuotaSubject, seen: CalendarSeen): void {
    this.seenCounts.saw(subject, seen);
  }

  /** Says that the account was counted before: its counters were lost. */
  lost(accountId: string): void {
    const known = this.accounts.get(accountId);
    if (known !== undefined) known.isLoss = true;
  }

  /** Remembers what was counted of an account and a key; a cost below zero was refunded. */
  count(accountId: string, keyId: string, month: number, costs: { account: number; key: number }, atMs: number): void {
    const known = this.accounts.get(accountId);
    if (known?.month !== month) return;
    if (costs.account !== 0) known.account.count(costs.account, atMs);
    if (costs.key !== 0) known.keys.get(keyId)?.count(costs.key, atMs);
  }

  /**
   * Whether the counts of an account are to stay out of the database for now: they may lack what other nodes have to
   * hand in.
   */
  holdsBack(accountId: string): boolean {
    const known = this.accounts.get(accountId);
    if (known === undefined) return false;
    if (known.endsMs > this.nowMs()) return true;
    this.accounts.delete(accountId);
    return false;
  }

  /** Redis was emptied. */
  wasEmptied(): void {
    this.lossUntilMs = this.nowMs() + KEPT_MS;
    for (const account of this.accounts.values()) account.isLoss = true;
  }

  /** Redis was not emptied before `askedMs` (of `nowMs`): what nobody knows of was new. Forgets what is over, too. */
  wasNotEmptied(askedMs: number): void {
    const nowMs = this.nowMs();
    for (const [accountId, { endsMs, isLoss, createdMs, underWay }] of this.accounts) {
      // What is on its way may come to a Redis that was emptied behind the question.
      const isOver = endsMs <= nowMs || (!isLoss && createdMs < askedMs);
      if (isOver && underWay === 0) this.accounts.delete(accountId);
    }
  }

  private accountIn(accountId: string, month: number, subject: QuotaSubject | undefined): RememberedAccount {
    const known = this.accounts.get(accountId);
    if (known !== undefined && known.month === month && known.endsMs > this.nowMs()) return known;
    const nowMs = this.nowMs();
    const made = new RememberedAccount(month, nowMs);
    made.isLoss = nowMs < this.lossUntilMs;
    // All of them now: later each sees counts of the counter that is created.
    for (const { keyId, account, key, atMs, day } of this.seenIn(accountId, month, subject)) {
      made.account = made.account.orSeen(account, atMs, day);
      made.keys.set(keyId, (made.keys.get(keyId) ?? new Remembered()).orSeen(key, atMs, day));
      made.isLoss = true;
    }
    this.accounts.set(accountId, made);
    return made;
  }

  private *seenIn(
    accountId: string,
    month: number,
    subject: QuotaSubject | undefined,
  ): Generator<{ keyId: string; account: CalendarCount; key: CalendarCount; atMs: number; day: number }> {
    const subjects = new Set(this.seenCounts.seenLately(accountId));
    if (subject !== undefined) subjects.add(subject);
    for (const { keyId, lastSeen, lastSeenMonth, lastSeenDay: day, lastSeenAtMs: atMs } of subjects) {
      if (lastSeen === undefined || lastSeenMonth !== month) continue;
      yield { keyId, account: accountCountIn(lastSeen), key: keyCountIn(lastSeen), atMs, day };
    }
  }
}
