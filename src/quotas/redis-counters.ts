/**
 * Live counters in Redis, shared by every node. Requests that arrive while a call is in flight gather and share the next one;
 * equal requests (same key, same cost) share one decision in it. An idle gateway pays one round trip.
 */
import type { Redis } from 'ioredis';
import type { Clock } from '../clock.js';
import {
  accountCounterKey,
  apiKeyCounterKey,
  COUNTER_GRACE_MS,
  REPLAY_MARKER_MS,
  replayMarkerKey,
  shadowAccountCounterKey,
  shadowApiKeyCounterKey,
} from '../redis/keys.js';
import {
  ANY_ROOM,
  type CounterReading,
  type CounterStore,
  type GivenBack,
  type MinuteRoom,
  type MonthSource,
} from './counter-store.js';
import { limitsText, numbersOf, verdictAt } from './decide-text.js';
import { Group, PLAIN_SETTLING, type Settling } from './gathering.js';
import type { MonthCalendar, MonthPeriod } from './month-period.js';
import type { OutageEntry } from './outage-log.js';
import { type MonthStart, type QuotaCounts, type QuotaDecision, type QuotaSubject } from './policies.js';
import { NOTHING_USED, readingOf } from './read-answer.js';
import { RedisCalls } from './redis-calls.js';
import { Script } from './redis-script.js';
import { DECIDE_ANSWERS, DECIDE_LUA, GIVE_BACK_LUA, READ_ANSWERS, READ_LUA, REPLAY_LUA, SEED_LUA } from './scripts.js';
import { SingleFlight } from './single-flight.js';

/** Most groups in one script call: bounds how long Redis is busy with it (about a millisecond). */
const LARGEST_BATCH = 256;
/** How often a counter may turn out to be missing again right after it was seeded. */
const SEED_ATTEMPTS = 2;
/** Nobody's request waits behind a usage report. */
const READ_DEADLINE_MS = 240;

const DECIDE = new Script(DECIDE_LUA);
const SEED = new Script(SEED_LUA);
const GIVE_BACK = new Script(GIVE_BACK_LUA);
const READ = new Script(READ_LUA);
const REPLAY = new Script(REPLAY_LUA);

export class RedisCounters implements CounterStore {
  private pending: Group[] = [];
  private inFlight = false;
  private readonly seeding = new SingleFlight();
  /** Redis's clock minus ours, from the last answer. */
  private offsetMs = 0;
  private readonly calls: RedisCalls;

  constructor(
    private readonly client: Redis,
    private readonly clock: Clock,
    private readonly source: MonthSource,
    /** Told of every call that went out: true when it was answered. */
    onCall: (answered: boolean) => void,
    /** What is done with every decision, and in the place of one that failed; here, because a promise less per request counts. */
    private readonly settling: Settling = PLAIN_SETTLING,
  ) {
    this.calls = new RedisCalls(client, onCall);
  }

  /** Learns Redis's clock before the first decision, so that a month does not begin by ours. Rejects as a decision does. */
  async synchronise(): Promise<void> {
    const [seconds = 0, microseconds = 0] = (await this.client.time()).map(Number);
    this.offsetMs = seconds * 1_000 + Math.floor(microseconds / 1_000) - this.clock.now();
  }

  decide(subject: QuotaSubject, cost: number): Promise<QuotaDecision> {
    return new Promise((resolve, reject) => {
      this.groupFor(subject, cost).add(resolve, reject);
      if (!this.inFlight) void this.send();
    });
  }

  async giveBack(subject: QuotaSubject, decision: QuotaDecision): Promise<GivenBack> {
    const bucket = Math.floor(decision.nowMs / 1_000);
    const answer = (await this.calls.run(
      GIVE_BACK,
      [subject.accountCounterKey, subject.keyCounterKey],
      [decision.cost, bucket, decision.period.label],
    )) as number[];
    const [nowMs = 0, , accountMonth = 0, fromMonth = 0, keyMonth = 0] = answer;
    return { fromMonth, accountMonth, keyMonth, nowMs };
  }

  async replay(entry: OutageEntry): Promise<{ accountMonth: number; keyMonth: number }> {
    const { subject, period, used, seconds, id } = entry;
    const keys = [subject.accountCounterKey, subject.keyCounterKey, replayMarkerKey(subject.accountId, id)];
    // The seconds are of our clock, the ring is Redis's.
    const shift = Math.round(this.offsetMs / 1_000);
    const buckets = [...seconds].flatMap(([second, cost]) => [second + shift, cost]);
    const args = [REPLAY_MARKER_MS, period.label, period.endMs + COUNTER_GRACE_MS, used, ...buckets];
    for (let attempt = 0; attempt < SEED_ATTEMPTS; attempt++) {
      const [done = -1, accountMonth = 0, keyMonth = 0] = (await this.calls.run(REPLAY, keys, args)) as number[];
      if (done !== -1) return { accountMonth, keyMonth };
      await this.seed(subject.accountId, subject.keyId, period);
    }
    throw new Error('counters vanish right after they are created');
  }

  async read(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    room: MinuteRoom = ANY_ROOM,
  ): Promise<CounterReading> {
    const keys = [accountCounterKey(accountId), ...(keyId === undefined ? [] : [apiKeyCounterKey(accountId, keyId)])];
    let answer = await this.readCounts(keys, room);
    if (answer[1] === -1 || answer[1 + READ_ANSWERS] === -1) {
      await this.seed(accountId, keyId, calendar.at(answer[0] ?? this.clock.now()));
      answer = await this.readCounts(keys, room);
    }
    return readingOf(answer, calendar, answer[0] ?? this.clock.now(), NOTHING_USED);
  }

  async readShadow(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    live: QuotaCounts,
    room: MinuteRoom = ANY_ROOM,
  ): Promise<CounterReading> {
    const account = shadowAccountCounterKey(accountId);
    const keys = keyId === undefined ? [account] : [account, shadowApiKeyCounterKey(accountId, keyId)];
    const answer = await this.readCounts(keys, room);
    return readingOf(answer, calendar, answer[0] ?? this.clock.now(), live);
  }

  private async readCounts(keys: readonly string[], { account, key }: MinuteRoom): Promise<number[]> {
    return (await this.calls.run(READ, keys, [account, key].slice(0, keys.length), READ_DEADLINE_MS)) as number[];
  }

  private groupFor(subject: QuotaSubject, cost: number): Group {
    const open = subject.gathering as Group | undefined;
    if (open?.cost === cost) return open;
    const group = new Group(subject, cost);
    subject.gathering = group;
    this.pending.push(group);
    return group;
  }

  /** Sends what has gathered, and again until nothing waits. */
  private async send(): Promise<void> {
    this.inFlight = true;
    while (this.pending.length > 0) {
      const batch = this.takeBatch();
      try {
        this.settle(batch, await this.ask(batch));
      } catch (error) {
        // Whoever gathered meanwhile would wait for the same deadline again.
        for (const group of [...batch, ...this.takeAll()]) group.fail(error, this.settling);
      }
    }
    this.inFlight = false;
  }

  private takeAll(): Group[] {
    const all = this.pending;
    this.pending = [];
    for (const group of all) if (group.subject.gathering === group) group.subject.gathering = undefined;
    return all;
  }

  private takeBatch(): Group[] {
    if (this.pending.length <= LARGEST_BATCH) return this.takeAll();
    const batch = this.pending.splice(0, LARGEST_BATCH);
    for (const group of batch) if (group.subject.gathering === group) group.subject.gathering = undefined;
    return batch;
  }

  private async ask(batch: readonly Group[]): Promise<number[]> {
    const keys: string[] = [];
    const texts: string[] = [];
    const nowMs = this.clock.now() + this.offsetMs;
    for (const group of batch) {
      const { subject, cost, size } = group;
      group.period = subject.calendar.at(nowMs);
      keys.push(subject.accountCounterKey, subject.keyCounterKey);
      texts.push(`${cost} ${size} ${limitsText(subject, group.period)}`);
    }
    return numbersOf((await this.calls.run(DECIDE, keys, texts)) as string);
  }

  /** Hands every waiting request its decision. */
  private settle(batch: readonly Group[], answer: readonly number[]): void {
    const nowMs = answer[0] ?? this.clock.now();
    this.offsetMs = nowMs - this.clock.now();
    let at = 1;
    for (const group of batch) {
      if (answer[at] === -1) void this.seedAndAskAgain(group);
      else group.resolve(verdictAt(answer, at, nowMs, group.period), this.settling);
      at += DECIDE_ANSWERS;
    }
  }

  /** A counter was missing: a new account or an emptied Redis. Its month comes from the database before anything counts. */
  private async seedAndAskAgain(group: Group): Promise<void> {
    try {
      if (group.seeded >= SEED_ATTEMPTS) throw new Error('counters vanish right after they are created');
      const { subject, startsFrom } = group;
      if (startsFrom === undefined) await this.seed(subject.accountId, subject.keyId, group.period);
      else await this.create([subject.accountCounterKey, subject.keyCounterKey], startsFrom);
    } catch (error) {
      group.fail(error, this.settling);
      return;
    }
    group.seeded += 1;
    this.pending.push(group);
    if (!this.inFlight) void this.send();
  }

  private seed(accountId: string, keyId: string | undefined, period: MonthPeriod): Promise<void> {
    return this.seeding.run(`${accountId}/${keyId ?? ''}`, async () => {
      const used = await this.source.usedInMonth(accountId, keyId, period);
      const keys = [accountCounterKey(accountId), ...(keyId === undefined ? [] : [apiKeyCounterKey(accountId, keyId)])];
      await this.create(keys, { period, ...used });
    });
  }

  /** Creates the counters that do not exist. */
  private async create(keys: readonly string[], { period, account, key }: MonthStart): Promise<void> {
    await this.calls.run(SEED, keys, [period.label, period.endMs + COUNTER_GRACE_MS, account, key]);
  }
}
