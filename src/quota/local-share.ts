/**
 * Decides by this node's share of the limits while the shared counters are unavailable. The share is the node's part of
 * the quota that remained when it last saw the counts. All shares together stay within the limit. A single node has the
 * whole remaining quota.
 */
import type { Clock } from '../platform/clock.js';
import { accountCountIn, keyCountIn, NOTHING_COUNTED, withCalendarCounts } from './model/calendar-count.js';
import { NOTHING_WRITTEN, writtenIn, type CounterReading, type MonthSource } from './model/counter-store.js';
import type { MonthCalendar, MonthPeriod } from './model/month-period.js';
import type { NodePosition } from './model/node-position.js';
import { ACCOUNT_MINUTE, KEY_MINUTE, perWindow, WINDOWS } from '../platform/quotas/windows.js';
import { NOTHING_USED, type QuotaCounts, type QuotaDecision, type QuotaLimits } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';
import { previewOf, roomUnder, type Preview } from './preview.js';
import { ProcessCounters } from './process/process-counters.js';
import { SingleFlight } from './process/single-flight.js';
import {
  baseOf,
  countIn,
  greatestOf,
  inMonth,
  knownUsage,
  minuteOf,
  raiseKnown,
  seenIn,
  shareOf,
  inPlanNumbers,
  type ShareBase,
  type ObservedCounts,
} from './share-base.js';

/** How long the last seen counts are considered current. The database may have newer counts than older observations. */
const SEEN_LATELY_MS = 5_000;
/** Maximum number of concurrent background reads from the database. */
const MAX_REFRESHES = 50;

const NEVER_SEEN: ObservedCounts = { counts: NOTHING_USED, atMs: 0 };

/** LocalShare decides by this node's share of the limits, and reads the usage that this node and the database know. */
export class LocalShare {
  private readonly accounts = new Map<string, ShareBase>();
  private readonly keys = new Map<string, ShareBase>();
  private readonly databaseReads = new SingleFlight();
  private refreshes = 0;

  constructor(
    private readonly counters: ProcessCounters,
    private readonly source: MonthSource,
    private readonly nodePlace: () => NodePosition,
    private readonly clock: Clock,
    /**
     * Returns the subject of the account that saw the account's counts last, among subjects whose counts are not in the
     * database yet.
     */
    private readonly latestSubject: (accountId: string) => QuotaSubject | undefined = () => undefined,
  ) {}

  /**
   * Checks a request against this node's share. Reads the database if this node did not see the subject this month. If
   * the database is unavailable, counts from 0. Never rejects.
   */
  decide(subject: QuotaSubject, cost: number, period: MonthPeriod): QuotaDecision | Promise<QuotaDecision> {
    const account = inMonth(this.accounts.get(subject.accountId), period);
    const key = inMonth(this.keys.get(subject.keyId), period);
    if (account !== undefined && key !== undefined) {
      if (key.isStale) this.refresh(subject, period, key);
      return this.decideByShare(subject, cost, account, key);
    }
    if (subject.lastSeenMonth === period.label && subject.lastSeen !== undefined) {
      this.startCounting(subject, { counts: subject.lastSeen, atMs: subject.lastSeenAtMs }, period);
      return this.decide(subject, cost, period);
    }
    return this.databaseReads
      .run(subject.keyId, async () => this.startCounting(subject, await this.readWritten(subject, period), period))
      .then(() => this.decide(subject, cost, period));
  }

  /** Previews the result of `decide` without counting or changing any state. Never rejects. */
  async preview(subject: QuotaSubject, cost: number, period: MonthPeriod): Promise<Preview> {
    const { accountId, keyId, calendar, limits } = subject;
    const [accountHere, keyHere] = [
      inMonth(this.accounts.get(accountId), period),
      inMonth(this.keys.get(keyId), period),
    ];
    let [account, key, ofAccount, ofKey] = [accountHere, keyHere, this.counters, this.counters];
    if (account === undefined || key === undefined) {
      const seen = seenIn(subject, period) ?? (await this.readWritten(subject, period));
      const last = this.latestSeen(accountId, seen, period);
      // Build the counters that `startCounting` would create.
      const fresh = new ProcessCounters(this.clock, this.source, 'local');
      fresh.seedFrom(subject, last, seen, period);
      if (account === undefined) [account, ofAccount] = [accountBase(last, period), fresh];
      else raiseKnown((account = { ...account }), period, accountCountIn(seen.counts));
      if (key === undefined) [key, ofKey] = [keyBase(seen, period), fresh];
    }
    const share = this.shareLimits(limits, account, key, period);
    const room = roomUnder(share, cost);
    const reading = combineReadings(
      ofAccount.peek(accountId, keyId, calendar, room),
      ofKey.peek(accountId, keyId, calendar, room),
    );
    const { decision } = previewOf(share, reading, cost);
    const byPlan = share === limits ? decision : inPlanNumbers(decision, limits, share, account, key);
    return { limits, reading: { ...reading, used: byPlan.used }, decision: byPlan };
  }

  /**
   * Reads the database's counts of a subject that this node did not see this month. Returns counts of 0 if the database
   * is unavailable. Never rejects.
   */
  private async readWritten({ accountId, keyId }: QuotaSubject, period: MonthPeriod): Promise<ObservedCounts> {
    const { account, key } = await this.source
      .usedInMonth(accountId, keyId, period)
      .catch(() => ({ account: NOTHING_WRITTEN, key: NOTHING_WRITTEN }));
    const counts = withCalendarCounts(NOTHING_USED, {
      account: writtenIn(account, period),
      key: writtenIn(key, period),
    });
    // Use the oldest time that is considered current, because another key of the account may have newer counts.
    return { counts, atMs: this.clock.now() - SEEN_LATELY_MS };
  }

  /** Refunds a decision of `decide` in this node's counters. */
  refund(subject: QuotaSubject, decision: QuotaDecision): void {
    void this.counters.refund(subject, decision);
  }

  /**
   * Reads the usage that this node knows, which is its own counts added to the counts that it saw before. If this node
   * has not decided for the account or the key, uses the last seen or written counts. Changes no state. Rejects if this
   * node has not seen the account or the key, and the database is unavailable.
   * @param subject the key's subject, if the caller has it. Its counts may be newer than the database's.
   */
  async read(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    subject?: QuotaSubject,
  ): Promise<CounterReading> {
    const here = this.counters.peek(accountId, keyId, calendar);
    const { period, nowMs, used } = here;
    const account = inMonth(this.accounts.get(accountId), period);
    const key = keyId === undefined ? undefined : inMonth(this.keys.get(keyId), period);
    if (account !== undefined && (keyId === undefined || key !== undefined)) {
      const counts = withCalendarCounts(used, {
        account: knownUsage(account, period, accountCountIn(used)),
        key: key ? knownUsage(key, period, keyCountIn(used)) : NOTHING_COUNTED,
      });
      return { ...here, used: counts };
    }
    const seen = await this.lastKnown(accountId, keyId, period, subject);
    const ofAccount = minuteOf(seen.account.counts[ACCOUNT_MINUTE], seen.account.atMs, nowMs);
    const ofKey = minuteOf(seen.key.counts[KEY_MINUTE], seen.key.atMs, nowMs);
    return {
      ...here,
      used: perWindow(({ of, kind }, index) => {
        if (kind === 'sliding') return (of === 'key' ? ofKey : ofAccount).used;
        return (of === 'key' ? seen.key : seen.account).counts[index]!;
      }),
      accountMinuteResetMs: ofAccount.resetMs,
      keyMinuteResetMs: ofKey.resetMs,
    };
  }

  /**
   * Returns the counts of an account and a key that this node last saw this month. Uses the database's counts if they
   * are higher and the seen counts are old or missing. Rejects if there are no seen counts and the database is
   * unavailable.
   */
  private async lastKnown(
    accountId: string,
    keyId: string | undefined,
    period: MonthPeriod,
    subject: QuotaSubject | undefined,
  ): Promise<{ readonly account: ObservedCounts; readonly key: ObservedCounts }> {
    const key = (subject && seenIn(subject, period)) ?? NEVER_SEEN;
    const account = this.latestSeen(accountId, key, period);
    const sinceMs = this.clock.now() - SEEN_LATELY_MS;
    if (account.atMs > sinceMs && (keyId === undefined || key.atMs > sinceMs)) return { account, key };
    const isSeen = account.atMs > 0 && (keyId === undefined || key.atMs > 0);
    const used = await this.source.usedInMonth(accountId, keyId, period).catch((error: unknown) => {
      if (isSeen) return { account: NOTHING_WRITTEN, key: NOTHING_WRITTEN };
      throw error;
    });
    const atLeast = (counts: Readonly<QuotaCounts>): QuotaCounts =>
      withCalendarCounts(counts, {
        account: greatestOf(accountCountIn(counts), writtenIn(used.account, period)),
        key: greatestOf(keyCountIn(counts), writtenIn(used.key, period)),
      });
    return {
      account: { ...account, counts: atLeast(account.counts) },
      key: { ...key, counts: atLeast(key.counts) },
    };
  }

  /** Forgets all counts. Call it when the store is lost, and when the store responds again. */
  clear(): void {
    this.accounts.clear();
    this.keys.clear();
    this.counters.clear();
  }

  /** Creates this node's counters and share bases of a subject from the counts that were last seen. */
  private startCounting(subject: QuotaSubject, seen: ObservedCounts, period: MonthPeriod): void {
    const { accountId, keyId } = subject;
    const known = inMonth(this.accounts.get(accountId), period);
    // Each key saw the account's counts at its own last request. Use the latest of these observations.
    const ofAccount = known === undefined ? this.latestSeen(accountId, seen, period) : seen;
    this.counters.seedFrom(subject, ofAccount, seen, period);
    if (known === undefined) {
      this.accounts.set(accountId, accountBase(ofAccount, period));
    } else {
      raiseKnown(known, period, accountCountIn(seen.counts));
    }
    if (inMonth(this.keys.get(keyId), period) === undefined) {
      const base = keyBase(seen, period);
      base.isStale = this.clock.now() - seen.atMs > SEEN_LATELY_MS;
      this.keys.set(keyId, base);
    }
  }

  /** Returns the latest observation of the account's counts, which is `seen` or the observation of another key. */
  private latestSeen(accountId: string, seen: ObservedCounts, period: MonthPeriod): ObservedCounts {
    const last = this.latestSubject(accountId);
    const ofLast = last === undefined ? undefined : seenIn(last, period);
    return ofLast === undefined || ofLast.atMs <= seen.atMs ? seen : ofLast;
  }

  /**
   * Reads the usage that other nodes have written to the database, in the background. Does nothing if the subject has
   * no calendar limit, or if `MAX_REFRESHES` reads are running.
   */
  private refresh(subject: QuotaSubject, period: MonthPeriod, key: ShareBase): void {
    const { limits } = subject;
    const hasCalendar = WINDOWS.some(({ kind }, index) => kind === 'calendar' && limits[index] !== Infinity);
    if (!hasCalendar || this.refreshes >= MAX_REFRESHES) return;
    key.isStale = false;
    this.refreshes += 1;
    this.source
      .usedInMonth(subject.accountId, subject.keyId, period)
      .then(
        (used) => {
          raiseKnown(this.accounts.get(subject.accountId), period, writtenIn(used.account, period));
          raiseKnown(this.keys.get(subject.keyId), period, writtenIn(used.key, period));
        },
        () => undefined,
      )
      .finally(() => (this.refreshes -= 1));
  }

  /** Decides under this node's share, and reports the counts in the plan's numbers. */
  private decideByShare(
    subject: QuotaSubject,
    cost: number,
    account: ShareBase,
    key: ShareBase,
  ): QuotaDecision | Promise<QuotaDecision> {
    const { limits } = subject;
    const share = this.shareLimits(limits, account, key, subject.calendar.at(this.clock.now()));
    if (share === limits) return this.counters.decide(subject, cost);
    const ofShare = Object.create(subject, { limits: { value: share } }) as QuotaSubject;
    const decision = this.counters.decide(ofShare, cost);
    if (decision instanceof Promise) return decision.then((late) => inPlanNumbers(late, limits, share, account, key));
    return inPlanNumbers(decision, limits, share, account, key);
  }

  /**
   * Returns the limits for this node's own counters, which started at the counts of the bases. The limits keep the
   * counters within this node's share. Returns the plan's limits if this is the only node and no further usage is
   * known.
   */
  private shareLimits(limits: QuotaLimits, account: ShareBase, key: ShareBase, period: MonthPeriod): QuotaLimits {
    const place = this.nodePlace();
    if (place.count === 1 && account.known === account.counted && key.known === key.counted) return limits;
    const nowMs = this.clock.now();
    return perWindow(({ of, period: counted, kind }, index) => {
      const limit = limits[index]!;
      const base = of === 'key' ? key : account;
      if (kind === 'calendar') {
        const field = counted === 'month' ? 'used' : 'usedToday';
        const [begun, known] = [countIn(base, base.counted, period)[field], countIn(base, base.known, period)[field]];
        return begun + shareOf(limit - known, place);
      }
      return nowMs < base.minuteUntilMs ? base.minute + shareOf(limit - base.minute, place) : shareOf(limit, place);
    });
  }
}

function accountBase({ counts, atMs }: ObservedCounts, period: MonthPeriod): ShareBase {
  return baseOf(period, accountCountIn(counts), counts[ACCOUNT_MINUTE], atMs);
}

function keyBase({ counts, atMs }: ObservedCounts, period: MonthPeriod): ShareBase {
  return baseOf(period, keyCountIn(counts), counts[KEY_MINUTE], atMs);
}

/** Combines the reading of an account and the reading of a key from different counters. */
function combineReadings(ofAccount: CounterReading, ofKey: CounterReading): CounterReading {
  return {
    ...ofKey,
    used: perWindow(({ of }, index) => (of === 'key' ? ofKey : ofAccount).used[index]!),
    accountMinuteResetMs: ofAccount.accountMinuteResetMs,
    accountFreedAtMs: ofAccount.accountFreedAtMs,
  };
}
