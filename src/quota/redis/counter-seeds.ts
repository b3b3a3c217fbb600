/**
 * Creates missing quota counters in Redis from the database and this node's memory. If another node created a counter
 * seconds ago (a young counter, see `scripts/young-counters.ts`), adds the counts that only this node knows.
 */
import { accountCounterKey, apiKeyCounterKey, COUNTER_GRACE_MS } from '../../stores/redis/keys.js';
import { Remembered, toMicroseconds, type CounterMemory } from '../model/counter-memory.js';
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
 * Maximum age of the database's counts when a counter is created from them. Nodes remember written counts for longer
 * than this time.
 */
export const LONGEST_SEED_MS = 2_000;

/** Maximum number of times that a counter is seeded because it was missing right after it was seeded. */
const SEED_ATTEMPTS = 4;

const SEED = new Script(SEED_LUA);
/** Number of attempts to create counters. The first attempt can fail because Redis's clock is not known. */
const CREATE_ATTEMPTS = 2;
/** Responses of `SEED_LUA`. */
const MISSING = 0;
const LATE = -1;
/** Last instant of calls whose counts cannot become outdated, because the counts do not come from the database. */
const ANY_TIME = Number.MAX_SAFE_INTEGER;

interface Counter {
  readonly key: string;
  readonly written: WrittenCount;
  readonly known: Remembered;
}

/**
 * Throws if counters were missing again after each of `SEED_ATTEMPTS` attempts to create them.
 * @param seeded number of times so far.
 */
export function checkSeedAttempts(seeded: number): void {
  if (seeded >= SEED_ATTEMPTS) throw new Error('counters disappear right after they are created');
}

/** CounterSeeds creates counters, and reports the counts that this node knows. */
export class CounterSeeds {
  private readonly inFlight = new SingleFlight();

  constructor(
    private readonly calls: RedisCalls,
    private readonly redisClock: RedisClock,
    private readonly source: MonthSource,
    private readonly memory: CounterMemory,
    /** Name of this node in its reports. */
    private readonly node: string,
  ) {}

  /**
   * Creates the counters that a decision waits for. If they exist and are young, adds this node's counts.
   * @param countersExist whether the counters exist.
   */
  async seedFor({ subject, startsFrom, period }: DecisionGroup, countersExist: boolean): Promise<void> {
    const { accountId, keyId, accountCounterKey: account, keyCounterKey: key } = subject;
    if (startsFrom !== undefined) return this.createShadow([account, key], startsFrom);
    // If Redis was emptied since, the counters are missing after all. The next decision call detects this.
    if (countersExist) await this.report(accountId, keyId, period, subject);
    else await this.create(accountId, keyId, period, subject);
  }

  /**
   * Reports the counts that this node knows, and creates missing counters. Rejects if the database or Redis does not
   * respond.
   */
  async reportOrCreate(
    accountId: string,
    keyId: string | undefined,
    period: MonthPeriod,
    subject?: QuotaSubject,
  ): Promise<void> {
    if (await this.report(accountId, keyId, period, subject)) return;
    // Do not join a creation in flight, because it may have been sent before Redis was emptied again.
    await this.createNow(accountId, keyId, period, subject);
  }

  /**
   * Creates missing counters of an account and of a key. Rejects if the database or Redis does not respond. Joins a
   * creation in flight of the same counters. Does not verify that the counters exist afterwards.
   */
  create(accountId: string, keyId: string | undefined, period: MonthPeriod, subject?: QuotaSubject): Promise<void> {
    return this.inFlight.run(`${accountId}/${keyId ?? ''}/${period.day.label}`, () =>
      this.createNow(accountId, keyId, period, subject),
    );
  }

  private async createNow(
    accountId: string,
    keyId: string | undefined,
    period: MonthPeriod,
    subject: QuotaSubject | undefined,
  ): Promise<void> {
    const known = this.memory.takeKnownCounts(accountId, keyId, period, subject);
    const arrived = this.memory.beginReport(accountId);
    try {
      for (let attempt = 0; attempt < CREATE_ATTEMPTS; attempt++) {
        const sentMs = performance.now();
        const latestMs = this.redisClock.instantAfter(sentMs, LONGEST_SEED_MS);
        const { account, key } = await this.source.usedInMonth(accountId, keyId, period);
        if (account.used > 0) this.memory.markLost(accountId);
        const counters = countersOf(accountId, keyId, known, { account, key });
        const response = await this.run(counters, period, latestMs, this.node, true);
        if (response[0] !== LATE) return this.recordReported(subject, period, response);
        // If Redis's clock was set, the response contains its new time.
        this.redisClock.recordTime((response[1] ?? 0) / 1_000, sentMs, performance.now());
      }
    } finally {
      arrived();
    }
    throw new Error('the call reached Redis too late: the counts of the database may be outdated');
  }

  /** Reports this node's counts to counters that exist. Resolves to false if one of the counters is missing. */
  private async report(
    accountId: string,
    keyId: string | undefined,
    period: MonthPeriod,
    subject?: QuotaSubject,
  ): Promise<boolean> {
    const known = this.memory.takeKnownCounts(accountId, keyId, period, subject);
    const arrived = this.memory.beginReport(accountId);
    const nothing = { account: NOTHING_WRITTEN, key: NOTHING_WRITTEN };
    const counters = countersOf(accountId, keyId, known, nothing);
    const response = await this.run(counters, period, ANY_TIME, this.node, false).finally(arrived);
    if (response[0] === MISSING) return false;
    this.recordReported(subject, period, response);
    return true;
  }

  /** Creates the shadow counters of an account and a key. They are never young, so nodes do not report to them. */
  private async createShadow(keys: readonly [string, string], { period, account, key }: CounterStart): Promise<void> {
    const counters = [account, key].map((count, index) => ({
      key: keys[index]!,
      written: asWritten(count, period),
      known: new Remembered(),
    }));
    await this.run(counters, period, ANY_TIME, '', true);
  }

  /**
   * Records the counts after the report, so that a flush writes them to the database. The response to the last node
   * that reports contains all counts.
   */
  private recordReported(subject: QuotaSubject | undefined, period: MonthPeriod, response: readonly number[]): void {
    const [done, nowUs = 0] = response;
    if (subject === undefined || done === LATE || subject.lastSeenMonth !== period.label) return;
    const counts = { account: countAt(response, 2), key: countAt(response, 4) };
    this.memory.recordReported(subject, { ...counts, period, nowMs: nowUs / 1_000 });
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
      const seen = [used, toMicroseconds(observedAtMs), used - usedToday, textOf(later), setAtMs === 0 ? '' : setAtMs];
      return [...seen, ...known.seedArguments(period)];
    });
    const until = [period.endMs + COUNTER_GRACE_MS, latestMs];
    const args = [...labelsOf(period), ...until, node, mayCreate ? 1 : 0, ...counts];
    const keys = counters.map(({ key }) => key);
    return (await this.calls.runScript(SEED, keys, args)) as number[];
  }
}

/** Returns the counters of an account and, if `keyId` is given, of a key. */
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

/** Formats months and their counts as the scripts expect them. */
function textOf(counts: readonly MonthCount[]): string {
  return counts.map(({ month, used }) => `${month} ${used}`).join(' ');
}
