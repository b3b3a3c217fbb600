/**
 * Stores the live counters in Redis or in the counting process, where all nodes share them. Calls have a deadline.
 * After a failure, the sink decides.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../platform/clock.js';
import { REDIS_DEADLINE_MS, type RedisClient } from '../../stores/redis/connect.js';
import {
  accountCounterKey,
  apiKeyCounterKey,
  COUNTER_GRACE_MS,
  REPLAY_MARKER_MS,
  replayMarkerKey,
  shadowAccountCounterKey,
  shadowApiKeyCounterKey,
} from '../../stores/redis/keys.js';
import type { ResultReceiver } from '../../platform/callbacks.js';
import {
  ANY_ROOM,
  type CounterReading,
  type Refund,
  type LosableStore,
  type MinuteRoom,
  type MonthSet,
  type CalendarSeen,
  type MonthSource,
} from '../model/counter-store.js';
import { CounterMemory } from '../model/counter-memory.js';
import { CounterSeeds, checkSeedAttempts } from './counter-seeds.js';
import { DecisionBatcher } from './decision-batcher.js';
import { PASSING_SINK, type DecisionSink } from '../model/decision-sink.js';
import { labelsOf, type MonthCalendar, type MonthPeriod } from '../model/month-period.js';
import { setMonthInRedis } from './month-set.js';
import type { OutageEntry } from '../model/outage-log.js';
import { NOTHING_USED, type QuotaCounts, type QuotaDecision } from '../model/policies.js';
import type { QuotaSubject } from '../model/subject.js';
import { REPLAY_LUA } from './scripts/outage.js';
import { countAt, millisecondsOf, readingOf } from './read-response.js';
import { RedisCalls } from './redis-calls.js';
import { RedisClock } from './redis-clock.js';
import { Script } from '../../stores/redis/script.js';
import { READ_LUA, READ_NUMBERS } from './scripts/read.js';
import { REFUND_LUA } from './scripts/refund.js';
import { SharedRead } from './shared-read.js';

/** Number of keys that are restored in parallel. The number is small, so that requests do not wait long for Redis. */
const RESTORED_AT_ONCE = 20;
/** Deadline of readings, in ms. It is longer than the deadline of decisions, because a usage report can wait. */
const READ_DEADLINE_MS = 240;

const REFUND = new Script(REFUND_LUA);
const READ = new Script(READ_LUA);
const REPLAY = new Script(REPLAY_LUA);

/** RedisCounters counts in Redis for all nodes together. */
export class RedisCounters implements LosableStore {
  private readonly reading = new SharedRead<CounterReading>();
  private readonly redisClock: RedisClock;
  private readonly calls: RedisCalls;
  private readonly batcher: DecisionBatcher;
  private readonly seeds: CounterSeeds;
  /** Name of this node in its markers and reports. */
  private readonly nodeId = randomBytes(9).toString('base64url');

  constructor(
    client: RedisClient,
    clock: Clock,
    source: MonthSource,
    sink: DecisionSink = PASSING_SINK,
    /** Deadline of a call, in ms. Readings have at least `READ_DEADLINE_MS`. */
    private readonly deadlineMs = REDIS_DEADLINE_MS,
    private readonly memory = new CounterMemory(),
  ) {
    this.calls = new RedisCalls(client, sink, deadlineMs);
    this.redisClock = new RedisClock(clock);
    this.seeds = new CounterSeeds(this.calls, this.redisClock, source, memory, this.nodeId);
    const { isCluster } = client;
    this.batcher = new DecisionBatcher(this.calls, this.redisClock, this.seeds, sink, isCluster, memory, this.nodeId);
  }

  /**
   * Reads Redis's clock. Call it before the first decision, so that the month does not depend on this node's clock.
   * Rejects if Redis does not respond.
   */
  synchronizeClock(): Promise<void> {
    return this.batcher.learnTime(Math.max(READ_DEADLINE_MS, this.deadlineMs));
  }

  decide(subject: QuotaSubject, cost: number): Promise<QuotaDecision> {
    return this.batcher.decide(subject, cost);
  }

  decideFor(waiting: ResultReceiver<QuotaDecision>, subject: QuotaSubject, cost: number): undefined {
    this.batcher.decideFor(waiting, subject, cost);
  }

  get isUnsure(): boolean {
    return this.batcher.isUnsure;
  }

  refundUnanswered(): Promise<boolean> {
    return this.batcher.refundUnanswered();
  }

  get aheadMs(): number {
    return this.redisClock.offsetMs;
  }

  /** Difference between Redis's clock, which the minute's buckets use, and this node's clock, in whole seconds. */
  private get secondsAhead(): number {
    return Math.round(this.aheadMs / 1_000);
  }

  async refund(subject: QuotaSubject, decision: QuotaDecision): Promise<Refund> {
    // A request that was admitted while Redis was unavailable has this node's time. Use the bucket to which the request
    // was replayed.
    const isLocalTime = decision.source === 'local';
    const bucket = Math.floor(decision.nowMs / 1_000) + (isLocalTime ? this.secondsAhead : 0);
    const atMs = decision.nowMs + (isLocalTime ? Math.round(this.aheadMs) : 0);
    const { period: counted } = decision;
    const today = subject.calendar.at(this.redisClock.now());
    const { accountId, keyId } = subject;
    const periods = [...labelsOf(counted), ...labelsOf(today), today.endMs + COUNTER_GRACE_MS];
    // Require this node's report only if the month has not ended and this node saw the counter. Otherwise, don't create
    // a counter just to refund it.
    const isSeen = subject.lastSeenMonth === counted.label && today.label === counted.label && !subject.isShadow;
    const node = isSeen ? this.nodeId : '';
    const refund = async (as: string): Promise<number[]> =>
      (await this.calls.runScript(
        REFUND,
        [subject.accountCounterKey, subject.keyCounterKey],
        [decision.cost, bucket, atMs, ...periods, as],
      )) as number[];
    let response = await refund(node);
    if (response[1]! < 0) {
      await this.seeds.reportOrCreate(accountId, keyId, today, subject);
      response = await refund('');
    }
    const [nowUs = 0, fromAccount = 0, , , fromMonth = 0] = response;
    const nowMs = nowUs / 1_000;
    const refunded = { account: -fromAccount, key: -fromMonth };
    if (node !== '') this.memory.recordCost(accountId, keyId, counted.label, refunded, nowMs);
    return { fromMonth, account: countAt(response, 2), key: countAt(response, 5), period: today, nowMs };
  }

  async replay(entry: OutageEntry): Promise<CalendarSeen> {
    const { subject, period: admittedIn, used, seconds, id } = entry;
    // Use Redis's time, because this node's clock may have run ahead.
    const period = subject.calendar.at(this.redisClock.now());
    const keys = [subject.accountCounterKey, subject.keyCounterKey, replayMarkerKey(subject.accountId, id)];
    const buckets = [...seconds].flatMap(([second, cost]) => [second + this.secondsAhead, cost]);
    const { accountId, keyId } = subject;
    const counted = [admittedIn.label, admittedIn.day.label, used];
    const now = [...labelsOf(period), period.endMs + COUNTER_GRACE_MS];
    const args = [REPLAY_MARKER_MS, ...counted, ...now, this.nodeId, ...buckets];
    for (let seeded = 0; ; seeded++) {
      const response = (await this.calls.runScript(REPLAY, keys, args)) as number[];
      if (response[0] !== -1) {
        const nowMs = response[5]! / 1_000;
        this.memory.recordCost(accountId, keyId, admittedIn.label, { account: used, key: used }, nowMs);
        return { account: countAt(response, 1), key: countAt(response, 3), period, nowMs };
      }
      checkSeedAttempts(seeded);
      await this.seeds.reportOrCreate(accountId, keyId, period, subject);
    }
  }

  /**
   * Reads the current counts. Without `room`, callers that arrive during a reading share the next reading, so that
   * clients that poll their usage cause little load.
   */
  read(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    room: MinuteRoom = ANY_ROOM,
  ): Promise<CounterReading> {
    const read = (): Promise<CounterReading> => this.readNow(accountId, keyId, calendar, room);
    return room === ANY_ROOM ? this.reading.read(`${accountId}/${keyId ?? ''}`, read) : read();
  }

  private async readNow(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    room: MinuteRoom,
  ): Promise<CounterReading> {
    const keys = [accountCounterKey(accountId), ...(keyId === undefined ? [] : [apiKeyCounterKey(accountId, keyId)])];
    let { response, period } = await this.readMonth(keys, calendar, room);
    if (response[1] === -1 || response[1 + READ_NUMBERS] === -1) {
      await this.seeds.create(accountId, keyId, period);
      ({ response, period } = await this.readMonth(keys, calendar, room));
    }
    return readingOf(response, period, NOTHING_USED);
  }

  async readShadow(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    live: Readonly<QuotaCounts>,
    room: MinuteRoom = ANY_ROOM,
  ): Promise<CounterReading> {
    const account = shadowAccountCounterKey(accountId);
    const keys = keyId === undefined ? [account] : [account, shadowApiKeyCounterKey(accountId, keyId)];
    const { response, period } = await this.readMonth(keys, calendar, room);
    return readingOf(response, period, live);
  }

  setMonthUsed(accountId: string, keyId: string | undefined, calendar: MonthCalendar, used: number): Promise<MonthSet> {
    const keys =
      keyId === undefined
        ? [accountCounterKey(accountId), shadowAccountCounterKey(accountId)]
        : [apiKeyCounterKey(accountId, keyId), shadowApiKeyCounterKey(accountId, keyId)];
    return setMonthInRedis(this.calls, keys, calendar, used);
  }

  /**
   * Reads counters in the current month by Redis's clock. Reads again if this node's estimate of that clock gave
   * another month.
   */
  private async readMonth(
    keys: readonly string[],
    calendar: MonthCalendar,
    { account, key }: MinuteRoom,
  ): Promise<{ response: number[]; period: MonthPeriod }> {
    const rooms = [account, key].slice(0, keys.length);
    const deadlineMs = Math.max(READ_DEADLINE_MS, this.deadlineMs);
    const read = async (period: MonthPeriod): Promise<number[]> =>
      (await this.calls.runScript(READ, keys, [...labelsOf(period), ...rooms], deadlineMs)) as number[];
    const asked = calendar.at(this.redisClock.now());
    const response = await read(asked);
    const period = calendar.at(millisecondsOf(response));
    return { response: period === asked ? response : await read(period), period };
  }

  /**
   * Restores counters after Redis was emptied. Reports the counts that this node knows, and creates missing counters,
   * including counters of keys without requests. Never rejects.
   * @returns the subjects whose counters could not be restored.
   */
  async restore(subjects: Iterable<QuotaSubject>): Promise<QuotaSubject[]> {
    const nowMs = this.redisClock.now();
    const seen = [...subjects].filter((subject) => {
      const period = subject.calendar.at(nowMs);
      if (subject.lastSeenMonth !== period.label) return false;
      this.memory.takeKnownCounts(subject.accountId, subject.keyId, period, subject);
      return true;
    });
    const left: QuotaSubject[] = [];
    const restoreOne = async (subject: QuotaSubject): Promise<void> => {
      const { accountId, keyId, calendar } = subject;
      await this.seeds
        .reportOrCreate(accountId, keyId, calendar.at(nowMs), subject)
        .catch(() => void left.push(subject));
    };
    for (let at = 0; at < seen.length; at += RESTORED_AT_ONCE) {
      const before = left.length;
      const some = seen.slice(at, at + RESTORED_AT_ONCE);
      await Promise.all(some.map(restoreOne));
      // Redis or the database is unavailable again. Stop, instead of waiting for each remaining subject.
      if (left.length - before === some.length) return [...left, ...seen.slice(at + RESTORED_AT_ONCE)];
    }
    return left;
  }
}
