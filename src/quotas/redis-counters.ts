/**
 * Live counters in Redis, shared by every node. Requests that arrive while a call is in flight gather and share the next one;
 * equal requests (same key, same cost) share one decision in it. An idle gateway pays one round trip.
 */
import type { Redis } from 'ioredis';
import type { Clock } from '../clock.js';
import { METRICS } from '../metrics.js';
import { REDIS_DEADLINE_MS } from '../redis/connect.js';
import { accountCounterKey, apiKeyCounterKey, COUNTER_GRACE_MS } from '../redis/keys.js';
import type { CounterReading, CounterStore, MonthSource } from './counter-store.js';
import { decisionFor, type GroupVerdict } from './decision.js';
import { CurrentMonth, type MonthPeriod } from './month-period.js';
import { MINUTE_BUCKETS, type QuotaDecision, type QuotaSubject } from './policies.js';
import { Script } from './redis-script.js';
import { DECIDE_ANSWERS, DECIDE_LUA, GIVE_BACK_LUA, READ_LUA, SEED_LUA } from './scripts.js';
import { SingleFlight } from './single-flight.js';

/** Most groups in one script call: bounds how long Redis is busy with it (about a millisecond). */
const LARGEST_BATCH = 256;
/** How often a counter may turn out to be missing again right after it was seeded. */
const SEED_ATTEMPTS = 2;

/** Equal requests that wait for one decision. */
class Group {
  readonly resolvers: ((decision: QuotaDecision) => void)[] = [];
  readonly rejecters: ((error: unknown) => void)[] = [];
  seeded = 0;

  constructor(
    readonly subject: QuotaSubject,
    readonly cost: number,
  ) {}

  reject(error: unknown): void {
    for (const reject of this.rejecters) reject(error);
  }
}

const DECIDE = new Script(DECIDE_LUA);
const SEED = new Script(SEED_LUA);
const GIVE_BACK = new Script(GIVE_BACK_LUA);
const READ = new Script(READ_LUA);

export class RedisCounters implements CounterStore {
  private pending = new Map<QuotaSubject, Group[]>();
  private inFlight = false;
  private readonly month = new CurrentMonth();
  private readonly seeding = new SingleFlight();
  /** Redis's clock minus ours, from the last answer. */
  private offsetMs = 0;
  private readonly callDuration = METRICS.quotaStoreCallDuration.series();

  constructor(
    private readonly client: Redis,
    private readonly clock: Clock,
    private readonly source: MonthSource,
    /** Told of every call that went out: true when it was answered. */
    private readonly onCall: (answered: boolean) => void,
  ) {}

  decide(subject: QuotaSubject, cost: number): Promise<QuotaDecision> {
    return new Promise((resolve, reject) => {
      const group = this.groupFor(subject, cost);
      group.resolvers.push(resolve);
      group.rejecters.push(reject);
      if (!this.inFlight) void this.send();
    });
  }

  async giveBack(subject: QuotaSubject, decision: QuotaDecision): Promise<void> {
    const bucket = Math.floor(decision.nowMs / 1_000);
    await this.call(
      GIVE_BACK,
      [subject.accountCounterKey, subject.keyCounterKey],
      [decision.cost, bucket, decision.period.label],
    );
  }

  async read(accountId: string, keyId: string | undefined): Promise<CounterReading> {
    const keys = [accountCounterKey(accountId), ...(keyId === undefined ? [] : [apiKeyCounterKey(accountId, keyId)])];
    let answer = await this.call(READ, keys, []);
    if (answer[1] === -1 || answer[5] === -1) {
      await this.seed(accountId, keyId, this.month.at(answer[0] ?? this.clock.now()));
      answer = await this.call(READ, keys, []);
    }
    const [nowMs = this.clock.now(), ...counters] = answer;
    const period = this.month.at(nowMs);
    const account = readCounter(counters, 0, period);
    const key = readCounter(counters, 4, period);
    return {
      nowMs,
      period,
      used: {
        keyMinute: key.minute,
        accountMinute: account.minute,
        accountMonth: account.month,
        keyMonth: key.month,
      },
      accountMinuteResetMs: account.resetMs,
      keyMinuteResetMs: key.resetMs,
    };
  }

  private groupFor(subject: QuotaSubject, cost: number): Group {
    const groups = this.pending.get(subject);
    if (groups === undefined) {
      const group = new Group(subject, cost);
      this.pending.set(subject, [group]);
      return group;
    }
    let group = groups.find((candidate) => candidate.cost === cost);
    if (group === undefined) groups.push((group = new Group(subject, cost)));
    return group;
  }

  /** Sends what has gathered, and again until nothing waits. */
  private async send(): Promise<void> {
    this.inFlight = true;
    while (this.pending.size > 0) {
      const batch = this.takeBatch();
      const period = this.month.at(this.clock.now() + this.offsetMs);
      try {
        this.settle(batch, period, await this.ask(batch, period));
      } catch (error) {
        for (const group of batch) group.reject(error);
      }
    }
    this.inFlight = false;
  }

  private takeBatch(): Group[] {
    const batch: Group[] = [];
    for (const [subject, groups] of this.pending) {
      this.pending.delete(subject);
      batch.push(...groups);
      if (batch.length >= LARGEST_BATCH) break;
    }
    return batch;
  }

  private ask(batch: readonly Group[], period: MonthPeriod): Promise<number[]> {
    const keys: string[] = [];
    const args: number[] = [];
    const expireAtMs = period.endMs + COUNTER_GRACE_MS;
    for (const { subject, cost, resolvers } of batch) {
      const { limits } = subject;
      keys.push(subject.accountCounterKey, subject.keyCounterKey);
      args.push(
        cost,
        resolvers.length,
        argument(limits.accountMinute),
        argument(limits.keyMinute),
        argument(limits.accountMonth),
        argument(limits.keyMonth),
        period.label,
        expireAtMs,
      );
    }
    return this.call(DECIDE, keys, args);
  }

  /** Hands every waiting request its decision. */
  private settle(batch: readonly Group[], period: MonthPeriod, answer: readonly number[]): void {
    const nowMs = answer[0] ?? this.clock.now();
    this.offsetMs = nowMs - this.clock.now();
    batch.forEach((group, index) => {
      const at = 1 + index * DECIDE_ANSWERS;
      if (answer[at] === -1) {
        void this.seedAndAskAgain(group, period);
        return;
      }
      const verdict: GroupVerdict = {
        source: 'store',
        nowMs,
        period,
        admitted: answer[at] ?? 0,
        before: {
          accountMinute: answer[at + 1] ?? 0,
          keyMinute: answer[at + 2] ?? 0,
          accountMonth: answer[at + 3] ?? 0,
          keyMonth: answer[at + 4] ?? 0,
        },
        accountOldest: answer[at + 5] ?? 0,
        keyOldest: answer[at + 6] ?? 0,
        accountFreedAt: answer[at + 7] ?? 0,
        keyFreedAt: answer[at + 8] ?? 0,
      };
      group.resolvers.forEach((resolve, position) =>
        resolve(decisionFor(group.subject, group.cost, verdict, position)),
      );
    });
  }

  /** A counter was missing: a new account or an emptied Redis. Its month comes from the database before anything counts. */
  private async seedAndAskAgain(group: Group, period: MonthPeriod): Promise<void> {
    try {
      if (group.seeded >= SEED_ATTEMPTS) throw new Error('counters vanish right after they are created');
      await this.seed(group.subject.accountId, group.subject.keyId, period);
    } catch (error) {
      group.reject(error);
      return;
    }
    group.seeded += 1;
    const waiting = this.pending.get(group.subject);
    if (waiting === undefined) this.pending.set(group.subject, [group]);
    else waiting.push(group);
    if (!this.inFlight) void this.send();
  }

  private seed(accountId: string, keyId: string | undefined, period: MonthPeriod): Promise<void> {
    return this.seeding.run(`${accountId}/${keyId ?? ''}`, async () => {
      const used = await this.source.usedInMonth(accountId, keyId, period);
      const keys = [accountCounterKey(accountId), ...(keyId === undefined ? [] : [apiKeyCounterKey(accountId, keyId)])];
      await this.call(SEED, keys, [period.label, period.endMs + COUNTER_GRACE_MS, used.account, used.key]);
    });
  }

  private async call(script: Script, keys: readonly string[], args: readonly number[]): Promise<number[]> {
    const startedMs = performance.now();
    try {
      const answer = await withinDeadline(script.run(this.client, keys, args));
      this.onCall(true);
      return answer as number[];
    } catch (error) {
      this.onCall(false);
      throw error;
    } finally {
      this.callDuration.observe((performance.now() - startedMs) / 1_000);
    }
  }
}

function argument(limit: number): number {
  return limit === Infinity ? -1 : limit;
}

function readCounter(
  answer: readonly number[],
  at: number,
  period: MonthPeriod,
): { minute: number; month: number; resetMs: number } {
  const [label = -1, used = 0, sum = 0, oldest = 0] = answer.slice(at, at + 4);
  return {
    minute: sum,
    month: label === period.label ? used : 0,
    resetMs: sum > 0 ? (oldest + MINUTE_BUCKETS) * 1_000 : 0,
  };
}

/**
 * Rejects when no answer came within the deadline. After the timer the event loop reads its sockets once more: when it was
 * this process that stood still, the answer is already there, and Redis must not be blamed.
 */
async function withinDeadline(call: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => setImmediate(() => reject(new Error(`no answer within ${REDIS_DEADLINE_MS} ms`))),
      REDIS_DEADLINE_MS,
    );
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}
