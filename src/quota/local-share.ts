/**
 * This node's share of the limits while the shared counters are away: its part of what was left when it last knew. All
 * nodes together stay within the limit. A single node has all of it.
 */
import type { Clock } from '../platform/clock.js';
import { accountCountIn, keyCountIn, NOTHING_COUNTED, withCalendarCounts } from './model/calendar-count.js';
import { NOTHING_WRITTEN, writtenIn, type CounterReading, type MonthSource } from './model/counter-store.js';
import type { MonthCalendar, MonthPeriod } from './model/month-period.js';
import type { NodePlace } from './model/node-place.js';
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
  type Base,
  type Seen,
} from './share-base.js';

/** How long the last seen counts are considered current. After that, the database may have newer ones. */
const SEEN_LATELY_MS = 5_000;
/** Maximum number of concurrent reads from the database that no request waits for. */
const MOST_REFRESHES = 50;

const NEVER_SEEN: Seen = { counts: NOTHING_USED, atMs: 0 };

/** LocalShare decides by this node's share, and reads what this node knows. */
export class LocalShare {
  private readonly accounts = new Map<string, Base>();
  private readonly keys = new Map<string, Base>();
  private readonly asking = new SingleFlight();
  private refreshes = 0;

  constructor(
    private readonly counters: ProcessCounters,
    private readonly source: MonthSource,
    private readonly place: () => NodePlace,
    private readonly clock: Clock,
    /** Returns the key of an account that saw the account last, among keys whose counts are not in the database yet. */
    private readonly lastOf: (accountId: string) => QuotaSubject | undefined = () => undefined,
  ) {}

  /**
   * Checks a request against this node's share. Reads the database if the subject was not seen this month. Never
   * rejects.
   */
  decide(subject: QuotaSubject, cost: number, period: MonthPeriod): QuotaDecision | Promise<QuotaDecision> {
    const account = inMonth(this.accounts.get(subject.accountId), period);
    const key = inMonth(this.keys.get(subject.keyId), period);
    if (account !== undefined && key !== undefined) {
      if (key.isStale) this.refresh(subject, period, key);
      return this.decideByShare(subject, cost, account, key);
    }
    if (subject.lastSeenMonth === period.label && subject.lastSeen !== undefined) {
      this.begin(subject, { counts: subject.lastSeen, atMs: subject.lastSeenAtMs }, period);
      return this.decide(subject, cost, period);
    }
    return this.asking
      .run(subject.keyId, async () => this.begin(subject, await this.writtenOf(subject, period), period))
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
      const seen = seenIn(subject, period) ?? (await this.writtenOf(subject, period));
      const last = this.latest(accountId, seen, period);
      // Build the counters that `begin` would create.
      const begun = new ProcessCounters(this.clock, this.source, 'local');
      begun.seedFrom(subject, last, seen, period);
      if (account === undefined) [account, ofAccount] = [accountBase(last, period), begun];
      else raiseKnown((account = { ...account }), period, accountCountIn(seen.counts));
      if (key === undefined) [key, ofKey] = [keyBase(seen, period), begun];
    }
    const share = this.limitsHere(limits, account, key, period);
    const room = roomUnder(share, cost);
    const reading = joined(
      ofAccount.peek(accountId, keyId, calendar, room),
      ofKey.peek(accountId, keyId, calendar, room),
    );
    const { decision } = previewOf(share, reading, cost);
    const byPlan = share === limits ? decision : inPlanNumbers(decision, limits, share, account, key);
    return { limits, reading: { ...reading, used: byPlan.used }, decision: byPlan };
  }

  /**
   * Reads the database's counts of a subject that was not seen this month. Returns 0 if the database is away. Never
   * rejects.
   */
  private async writtenOf({ accountId, keyId }: QuotaSubject, period: MonthPeriod): Promise<Seen> {
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

  refund(subject: QuotaSubject, decision: QuotaDecision): void {
    void this.counters.refund(subject, decision);
  }

  /**
   * Reads the usage that this node knows: what it counted itself, added to what it knew before. Neither counts nor
   * changes any state. Rejects if it has not seen the account or the key, and the database is away.
   * @param subject the key's subject, if a request of the key is at hand. Its counts may be newer than the database's.
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
   * Returns the counts of an account and a key that were last seen this month. Includes the database's counts if these
   * are old or missing.
   */
  private async lastKnown(
    accountId: string,
    keyId: string | undefined,
    period: MonthPeriod,
    subject: QuotaSubject | undefined,
  ): Promise<{ readonly account: Seen; readonly key: Seen }> {
    const key = (subject && seenIn(subject, period)) ?? NEVER_SEEN;
    const account = this.latest(accountId, key, period);
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

  /** Forgets all counts, because the store is back or was lost again. */
  clear(): void {
    this.accounts.clear();
    this.keys.clear();
    this.counters.clear();
  }

  private begin(subject: QuotaSubject, seen: Seen, period: MonthPeriod): void {
    const { accountId, keyId } = subject;
    const known = inMonth(this.accounts.get(accountId), period);
    // Each key saw the account at its own last request. The latest one is right.
    const ofAccount = known === undefined ? this.latest(accountId, seen, period) : seen;
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

  private latest(accountId: string, seen: Seen, period: MonthPeriod): Seen {
    const last = this.lastOf(accountId);
    const ofLast = last === undefined ? undefined : seenIn(last, period);
    return ofLast === undefined || ofLast.atMs <= seen.atMs ? seen : ofLast;
  }

  /** Reads the usage of other nodes and keys up to their last flush from the database. No request waits for it. */
  private refresh(subject: QuotaSubject, period: MonthPeriod, key: Base): void {
    const { limits } = subject;
    const hasCalendar = WINDOWS.some(({ kind }, index) => kind === 'calendar' && limits[index] !== Infinity);
    if (!hasCalendar || this.refreshes >= MOST_REFRESHES) return;
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

  private decideByShare(
    subject: QuotaSubject,
    cost: number,
    account: Base,
    key: Base,
  ): QuotaDecision | Promise<QuotaDecision> {
    const { limits } = subject;
    const share = this.limitsHere(limits, account, key, subject.calendar.at(this.clock.now()));
    if (share === limits) return this.counters.decide(subject, cost);
    const ofShare = Object.create(subject, { limits: { value: share } }) as QuotaSubject;
    const decision = this.counters.decide(ofShare, cost);
    if (decision instanceof Promise) return decision.then((made) => inPlanNumbers(made, limits, share, account, key));
    return inPlanNumbers(decision, limits, share, account, key);
  }

  /**
   * Returns limits under which the counters here, which started at the bases, stay within this node's share. Returns
   * the plan's limits if no other node has a share.
   */
  private limitsHere(limits: QuotaLimits, account: Base, key: Base, period: MonthPeriod): QuotaLimits {
    const place = this.place();
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

function accountBase({ counts, atMs }: Seen, period: MonthPeriod): Base {
  return baseOf(period, accountCountIn(counts), counts[ACCOUNT_MINUTE], atMs);
}

function keyBase({ counts, atMs }: Seen, period: MonthPeriod): Base {
  return baseOf(period, keyCountIn(counts), counts[KEY_MINUTE], atMs);
}

/** Combines readings of an account and a key from different counters. */
function joined(ofAccount: CounterReading, ofKey: CounterReading): CounterReading {
  return {
    ...ofKey,
    used: perWindow(({ of }, index) => (of === 'key' ? ofKey : ofAccount).used[index]!),
    accountMinuteResetMs: ofAccount.accountMinuteResetMs,
    accountFreedAtMs: ofAccount.accountFreedAtMs,
  };
}
