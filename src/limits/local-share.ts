/**
 * What this node hands out by itself while the shared counters are away: its share of what was left when it last knew, so that all nodes
 * together stay within the limit. With one node that is all of it.
 */
import type { Clock } from '../platform/clock.js';
import { NOTHING_WRITTEN, type CounterReading, type MonthSource } from './model/counter-store.js';
import type { MonthCalendar, MonthPeriod } from './model/month-period.js';
import type { NodePlace } from './model/node-place.js';
import {
  ACCOUNT_MONTH,
  KEY_MONTH,
  MINUTE_BUCKETS,
  type QuotaCounts,
  type QuotaDecision,
  type QuotaLimits,
} from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';
import type { ProcessCounters } from './process/process-counters.js';
import { NOTHING_USED } from './redis/read-response.js';
import { SingleFlight } from './process/single-flight.js';

/** What was last seen is believed for this long; when it is older, the database may know more. */
const SEEN_LATELY_MS = 5_000;
/** Most questions to the database at once that no request waits for. */
const MOST_REFRESHES = 50;
/** A share that is used up says nothing of when there is more: when the store is back, or at another node at once. */
const SHARE_RETRY_MS = 2_000;

/** Where a counter stood when this node began to go on by itself. */
interface Base {
  /** Of the month that `month` and `counted` belong to. */
  readonly label: number;
  /** What the counter here began with. */
  readonly counted: number;
  /** The most that is known to have been used. */
  month: number;
  readonly minute: number;
  /** When those have left the window. */
  readonly minuteUntilMs: number;
  /** Whether it was seen so long ago that the database may know more, and has not been asked. */
  isStale: boolean;
}

/** What a node last knew of a key and its account, and when, ms. */
interface Seen {
  readonly counts: QuotaCounts;
  readonly atMs: number;
}

const NEVER_SEEN: Seen = { counts: NOTHING_USED, atMs: 0 };

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
    /** Of the keys of an account whose counts the database does not have yet, the one that saw the account last. */
    private readonly lastOf: (accountId: string) => QuotaSubject | undefined = () => undefined,
  ) {}

  /** Judges a request by this node's share. Waits for the database where the subject was not seen this month. Never rejects. */
  decide(subject: QuotaSubject, cost: number, period: MonthPeriod): QuotaDecision | Promise<QuotaDecision> {
    const account = inMonth(this.accounts.get(subject.accountId), period);
    const key = inMonth(this.keys.get(subject.keyId), period);
    if (account !== undefined && key !== undefined) {
      if (key.isStale) this.refresh(subject, period, key);
      return this.judge(subject, cost, account, key);
    }
    if (subject.lastSeenMonth === period.label && subject.lastSeen !== undefined) {
      this.begin(subject, { counts: subject.lastSeen, atMs: subject.lastSeenAtMs }, period);
      return this.decide(subject, cost, period);
    }
    return this.asking
      .run(subject.keyId, async () => {
        const used = await this.source
          .usedInMonth(subject.accountId, subject.keyId, period)
          .catch(() => ({ account: NOTHING_WRITTEN, key: NOTHING_WRITTEN }));
        const counts = { ...NOTHING_USED, accountMonth: used.account.used, keyMonth: used.key.used };
        // As old as it may be: another key of the account may know more.
        this.begin(subject, { counts, atMs: this.clock.now() - SEEN_LATELY_MS }, period);
      })
      .then(() => this.decide(subject, cost, period));
  }

  refund(subject: QuotaSubject, decision: QuotaDecision): void {
    void this.counters.refund(subject, decision);
  }

  /**
   * What this node knows to be used: what it counted itself, on top of what it knew before. Counts nothing, and leaves nothing behind.
   * Rejects where it has not seen the account or the key, and the database is away.
   * @param subject of the key, where a request of it is at hand: what it saw may be newer than what the database has.
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
      const accountMonth = known(account, period, used.accountMonth);
      return { ...here, used: { ...used, accountMonth, keyMonth: key ? known(key, period, used.keyMonth) : 0 } };
    }
    const seen = await this.lastKnown(accountId, keyId, period, subject);
    const ofAccount = minuteOf(seen.account.counts.accountMinute, seen.account.atMs, nowMs);
    const ofKey = minuteOf(seen.key.counts.keyMinute, seen.key.atMs, nowMs);
    const { accountMonth } = seen.account.counts;
    const { keyMonth } = seen.key.counts;
    return {
      ...here,
      used: { accountMonth, keyMonth, accountMinute: ofAccount.used, keyMinute: ofKey.used },
      accountMinuteResetMs: ofAccount.resetMs,
      keyMinuteResetMs: ofKey.resetMs,
    };
  }

  /** What was last seen of an account and a key this month; where that was not lately, or never, the database may know more. */
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
    return {
      account: { ...account, counts: atLeast(account.counts, 'accountMonth', used.account.used) },
      key: { ...key, counts: atLeast(key.counts, 'keyMonth', used.key.used) },
    };
  }

  /** Forgets everything: the store is back, or lost anew. */
  clear(): void {
    this.accounts.clear();
    this.keys.clear();
    this.counters.clear();
  }

  private begin(subject: QuotaSubject, seen: Seen, period: MonthPeriod): void {
    const { accountId, keyId } = subject;
    const known = inMonth(this.accounts.get(accountId), period);
    // Each key saw the account with its own last request; whichever was last is right.
    const ofAccount = known === undefined ? this.latest(accountId, seen, period) : seen;
    this.counters.seedFrom(subject, ofAccount, seen, period);
    if (known === undefined) {
      const { accountMonth, accountMinute } = ofAccount.counts;
      this.accounts.set(accountId, baseOf(period, accountMonth, accountMinute, ofAccount.atMs));
    } else {
      raise(known, period, seen.counts.accountMonth);
    }
    if (inMonth(this.keys.get(keyId), period) === undefined) {
      const base = baseOf(period, seen.counts.keyMonth, seen.counts.keyMinute, seen.atMs);
      base.isStale = this.clock.now() - seen.atMs > SEEN_LATELY_MS;
      this.keys.set(keyId, base);
    }
  }

  private latest(accountId: string, seen: Seen, period: MonthPeriod): Seen {
    const last = this.lastOf(accountId);
    const ofLast = last === undefined ? undefined : seenIn(last, period);
    return ofLast === undefined || ofLast.atMs <= seen.atMs ? seen : ofLast;
  }

  /** Other nodes, or other keys, may have used more since: the database knows up to its last flush. No request waits for it. */
  private refresh(subject: QuotaSubject, period: MonthPeriod, key: Base): void {
    const hasMonth = subject.limits.accountMonth !== Infinity || subject.limits.keyMonth !== Infinity;
    if (!hasMonth || this.refreshes >= MOST_REFRESHES) return;
    key.isStale = false;
    this.refreshes += 1;
    this.source
      .usedInMonth(subject.accountId, subject.keyId, period)
      .then(
        (used) => {
          raise(this.accounts.get(subject.accountId), period, used.account.used);
          raise(this.keys.get(subject.keyId), period, used.key.used);
        },
        () => undefined,
      )
      .finally(() => (this.refreshes -= 1));
  }

  private judge(subject: QuotaSubject, cost: number, account: Base, key: Base): QuotaDecision | Promise<QuotaDecision> {
    const place = this.place();
    const isAll = place.count === 1 && account.month === account.counted && key.month === key.counted;
    if (isAll) return this.counters.decide(subject, cost);
    const { limits } = subject;
    const share = this.shareOf(limits, account, key, subject.calendar.at(this.clock.now()).label, place);
    const ofShare = Object.create(subject, { limits: { value: share } }) as QuotaSubject;
    const decision = this.counters.decide(ofShare, cost);
    if (decision instanceof Promise) return decision.then((made) => told(made, limits, share, account, key));
    return told(decision, limits, share, account, key);
  }

  /** The limits by which the counters here, which began at the bases, hand out no more than the share. */
  private shareOf(limits: QuotaLimits, account: Base, key: Base, label: number, place: NodePlace): QuotaLimits {
    const nowMs = this.clock.now();
    const month = (limit: number, base: Base): number =>
      base.label === label ? base.counted + shareOf(limit - base.month, place) : shareOf(limit, place);
    const minute = (limit: number, base: Base): number =>
      nowMs < base.minuteUntilMs ? base.minute + shareOf(limit - base.minute, place) : shareOf(limit, place);
    return {
      keyMinute: minute(limits.keyMinute, key),
      accountMinute: minute(limits.accountMinute, account),
      accountMonth: month(limits.accountMonth, account),
      keyMonth: month(limits.keyMonth, key),
    };
  }
}

function baseOf({ label }: MonthPeriod, month: number, minute: number, seenAtMs: number): Base {
  const minuteUntilMs = (Math.floor(seenAtMs / 1_000) + MINUTE_BUCKETS) * 1_000;
  return { label, counted: month, month, minute, minuteUntilMs, isStale: false };
}

/** A base, unless it was begun in a month that is still to come: by a clock that ran ahead. */
function inMonth(base: Base | undefined, { following }: MonthPeriod): Base | undefined {
  return base !== undefined && base.label < following ? base : undefined;
}

/** How much of the month is used as far as this node knows; `here` is the count of its own counter. */
function known(base: Base, { label }: MonthPeriod, here: number): number {
  return base.label === label ? here - base.counted + base.month : here;
}

/** What a subject last saw of a month; undefined: nothing. */
function seenIn(subject: QuotaSubject, { label }: MonthPeriod): Seen | undefined {
  const { lastSeen: counts, lastSeenMonth, lastSeenAtMs: atMs } = subject;
  return counts === undefined || lastSeenMonth !== label ? undefined : { counts, atMs };
}

function atLeast(counts: QuotaCounts, name: 'accountMonth' | 'keyMonth', used: number): QuotaCounts {
  return { ...counts, [name]: Math.max(counts[name], used) };
}

/** A minute's count that was seen at an instant, as far as it may still be in the window. */
function minuteOf(used: number, seenAtMs: number, nowMs: number): { used: number; resetMs: number } {
  const resetMs = (Math.floor(seenAtMs / 1_000) + MINUTE_BUCKETS) * 1_000;
  return used > 0 && nowMs < resetMs ? { used, resetMs } : { used: 0, resetMs: 0 };
}

/** A node's part of what is left: the parts of all of them add up to it. */
export function shareOf(left: number, { count, rank }: NodePlace): number {
  if (left === Infinity) return Infinity;
  if (left <= 0) return 0;
  return Math.floor(left / count) + (rank < left % count ? 1 : 0);
}

function raise(base: Base | undefined, period: MonthPeriod, used: number): void {
  if (base?.label === period.label) base.month = Math.max(base.month, used);
}

/** The decision by the plan's numbers: what is left of a limit is what this node has left to give. */
function told(
  decision: QuotaDecision,
  limits: QuotaLimits,
  share: QuotaLimits,
  account: Base,
  key: Base,
): QuotaDecision {
  const by = (name: keyof QuotaLimits): number =>
    decision.used[name] + (limits[name] === Infinity ? 0 : limits[name] - share[name]);
  const told: QuotaDecision = {
    ...decision,
    used: {
      keyMinute: by('keyMinute'),
      accountMinute: by('accountMinute'),
      accountMonth: by('accountMonth'),
      keyMonth: by('keyMonth'),
    },
  };
  if (decision.admitted) return told;
  const { violated, cost, period, used } = decision;
  const isUsedUp =
    ((violated & ACCOUNT_MONTH) !== 0 && known(account, period, used.accountMonth) + cost > limits.accountMonth) ||
    ((violated & KEY_MONTH) !== 0 && known(key, period, used.keyMonth) + cost > limits.keyMonth);
  if (isUsedUp) return told;
  const ofMonth = (violated & (ACCOUNT_MONTH | KEY_MONTH)) !== 0;
  return { ...told, ofShare: true, retryAtMs: ofMonth ? decision.nowMs + SHARE_RETRY_MS : decision.retryAtMs };
}
