/**
 * Creates counters in Redis from what the database and this node know, and hands in at those that others have created.
 */
import { accountCounterKey, apiKeyCounterKey, COUNTER_GRACE_MS } from '../../stores/redis/keys.js';
import { Remembered, microseconds, type CounterMemory } from '../model/counter-memory.js';
import {
  asWritten,
  NOTHING_WRITTEN,
  type MonthCount,
  type MonthSource,
  type WrittenCount,
  type WrittenMonth,
  writtenIn,
} from '../model/counter-store.js';
import type { DecisionGroup } from './decision-group.js';
import { labelsOf, type MonthPeriod } from '../model/month-period.js';
import { countAt } from './read-response.js';
import type { RedisCalls } from './redis-calls.js';
import type { RedisClock } from './redis-clock.js';
import { Script } from '../../stores/redis/script.js';
import { SEED_LUA } from './scripts/seed.js';
import { SingleFlight } from '../process/single-flight.js';
import type { CounterStart, QuotaSubject } from '../model/subject.js';

/**
 * How old the counts of the database may be when counters are created from them. What a node has written it remembers
 * for longer.
 */
export const LONGEST_SEED_MS = 2_000;

/** How often a counter may turn out to be missing again right after it was seeded. */
const SEED_ATTEMPTS = 4;

const SEED = new Script(SEED_LUA);
/** How often that is tried: the first time Redis's clock may be known wrong. */
const CREATE_ATTEMPTS = 2;
/** Responses of `SEED_LUA`. */
const MISSING = 0;
const LATE = -1;
/** What does not come from the database is not old. */
const ANY_TIME = Number.MAX_SAFE_INTEGER;

interface Counter {
  readonly key: string;
  readonly written: WrittenCount;
  readonly known: Remembered;
}

/** Throws once counters have been seeded as often as is of any use. @param seeded how often they have been. */
export function refuseEndlessSeeding(seeded: number): void {
  if (seeded >= SEED_ATTEMPTS) throw new Error('counters vanish right after they are created');
}

/** CounterSeeds creates counters from month counts, and hands in what this node counted. */
export class CounterSeeds {
  private readonly underWay = new SingleFlight();

  constructor(
    private readonly calls: RedisCalls,
    private readonly redisClock: RedisClock,
    private readonly source: MonthSource,
    private readonly memory: CounterMemory,
    /** The name by which Redis knows who has handed in. */
    private readonly node: string,
  ) {}

  /** Creates the counters that decisions wait for; where they are there, hands in at them what this node knows. */
  async seedFor({ subject, startsFrom, period }: DecisionGroup, areThere: boolean): Promise<void> {
    const { accountId, keyId, accountCounterKey: account, keyCounterKey: key } = subject;
    if (startsFrom !== undefined) return this.createShadow([account, key], startsFrom);
    // What is missing after all, because Redis was emptied meanwhile, is found with the next attempt.
    if (areThere) await this.handIn(accountId, keyId, period, subject);
    else await this.create(accountId, keyId, period, subject);
  }

  /**
   * Hands in what this node knows, and creates the counters that do not exist. Rejects when the database or Redis does
   * not answer.
   */
  async bring(
    accountId: string,
    keyId: string | undefined,
    period: MonthPeriod,
    subject?: QuotaSubject,
  ): Promise<void> {
    if (await this.handIn(accountId, keyId, period, subject)) return;
    // Not with others: those may have been served before Redis was emptied once more.
    await this.createNow(accountId, keyId, period, subject);
  }

  /**
   * Creates counters of an account, and of a key, that do not exist. Whoever asks looks afterwards whether they do now.
   */
  create(accountId: string, keyId: string | undefined, period: MonthPeriod, subject?: QuotaSubject): Promise<void> {
    return this.underWay.run(`${accountId}/${keyId ?? ''}/${period.day.label}`, () =>
      this.createNow(accountId, keyId, period, subject),
    );
  }

  private async createNow(
    accountId: string,
    keyId: string | undefined,
    period: MonthPeriod,
    subject: QuotaSubject | undefined,
  ): Promise<void> {
    const known = this.memory.recall(accountId, keyId, period, subject);
    const arrived = this.memory.sending(accountId);
    try {
      for (let attempt = 0; attempt < CREATE_ATTEMPTS; attempt++) {
        const sentMs = performance.now();
        const latestMs = this.redisClock.instantAfter(sentMs, LONGEST_SEED_MS);
        const { account, key } = await this.source.usedInMonth(accountId, keyId, period);
        if (account.used > 0) this.memory.lost(accountId);
        const counters = countersOf(accountId, keyId, known, { account, key });
        const response = await this.run(counters, period, latestMs, this.node, true);
        if (response[0] !== LATE) return this.seen(subject, period, response);
        // Or its clock was set: then it is known now.
        this.redisClock.heard((response[1] ?? 0) / 1_000, sentMs, performance.now());
      }
    } finally {
      arrived();
    }
    throw new Error('the call came too late: what the database knew may be old');
  }

  /** Hands in at counters that exist. Resolves to false where one does not. */
  private async handIn(
    accountId: string,
    keyId: string | undefined,
    period: MonthPeriod,
    subject?: QuotaSubject,
  ): Promise<boolean> {
    const known = this.memory.recall(accountId, keyId, period, subject);
    const arrived = this.memory.sending(accountId);
    const nothing = { account: NOTHING_WRITTEN, key: NOTHING_WRITTEN };
    const counters = countersOf(accountId, keyId, known, nothing);
    const response = await this.run(counters, period, ANY_TIME, this.node, false).finally(arrived);
    if (response[0] === MISSING) return false;
    this.seen(subject, period, response);
    return true;
  }

  /** Creates shadow counters, which nobody hands in at: account's and key's. */
  private async createShadow(keys: readonly [string, string], { period, account, key }: CounterStart): Promise<void> {
    const counters = [account, key].map((count, index) => ({
      key: keys[index]!,
      written: asWritten(count, period),
      known: new Remembered(),
    }));
    await this.run(counters, period, ANY_TIME, '', true);
  }

  /** Who hands in last sees all of it: the database is to get that, and not what somebody saw before. */
  private seen(subject: QuotaSubject | undefined, period: MonthPeriod, response: readonly number[]): void {
    const [done, nowUs = 0] = response;
    if (subject === undefined || done === LATE || subject.lastSeenMonth !== period.label) return;
    const counts = { account: countAt(response, 2), key: countAt(response, 4) };
    this.memory.saw(subject, { ...counts, period, nowMs: nowUs / 1_000 });
  }

  private async run(
    counters: readonly Counter[],
    period: MonthPeriod,
    latestMs: number,
    node: string,
    mayCreate: boolean,
  ): Promise<number[]> {
    const counts = counters.flatMap(({ written, known }) => {
      const { used, later, observedAtMs = 0, setAtMs = 0 } = written;
      const { usedToday } = writtenIn(written, period);
      const seen = [used, microseconds(observedAtMs), used - usedToday, textOf(later), setAtMs === 0 ? '' : setAtMs];
      return [...seen, ...known.argumentsIn(period)];
    });
    const until = [period.endMs + COUNTER_GRACE_MS, latestMs];
    const args = [...labelsOf(period), ...until, node, mayCreate ? 1 : 0, ...counts];
    const keys = counters.map(({ key }) => key);
    return (await this.calls.run(SEED, keys, args)) as number[];
  }
}

/** Of an account and, where there is one, of a key. */
function countersOf(
  accountId: string,
  keyId: string | undefined,
  known: { readonly account: Remembered; readonly key: Remembered },
  written: WrittenMonth,
): Counter[] {
  const account = { key: accountCounterKey(accountId), written: written.account, known: known.account };
  if (keyId === undefined) return [account];
  return [account, { key: apiKeyCounterKey(accountId, keyId), written: written.key, known: known.key }];
}

/** Months and their counts, as scripts take them. */
function textOf(counts: readonly MonthCount[]): string {
  return counts.map(({ month, used }) => `${month} ${used}`).join(' ');
}
