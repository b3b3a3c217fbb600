/** Puts the quota decision together: counters in this process, or in Redis with everything that needs. */
import type { Kysely } from 'kysely';
import type { Clock } from '../platform/clock.js';
import type { DatabaseHandle } from '../database/connect.js';
import type { WriteWitness } from '../database/database-health.js';
import type { Tables } from '../database/schema.js';
import type { Logger } from '../platform/log.js';
import { METRICS } from '../platform/metrics.js';
import { connectRedis, REDIS_DEADLINE_MS, redisReady } from '../redis/connect.js';
import { warnOfRisks } from '../redis/risks.js';
import { Breaker } from './breaker.js';
import { CounterMemory } from './model/counter-memory.js';
import { EmptiedStore } from './emptied-store.js';
import { FlushRounds } from './model/flush-rounds.js';
import { MonthLedger } from '../usage/month-ledger.js';
import { LocalShare } from './local-share.js';
import { NodeCount } from './redis/node-count.js';
import { ProcessCounters } from './process/process-counters.js';
import { QuotaStorage } from './quota-storage.js';
import { RedisCounters } from './redis/redis-counters.js';
import { StoreLoss } from './store-loss.js';
import { asksForWrite, StoreWatch } from './store-watch.js';
import { UsageFlush } from '../usage/usage-flush.js';
import { UsageRecorder } from '../usage/usage-recorder.js';
import { UsageSweep } from '../usage/usage-sweep.js';
import { UsageTable } from '../usage/usage-table.js';
import { ProcessThrottleWindows, RedisThrottleWindows } from './throttle-windows.js';

const REDIS_START_TIMEOUT_MS = 5_000;
const FORGET_INTERVAL_MS = 1_000;

export interface Quotas {
  readonly storage: QuotaStorage;
  readonly recorder: UsageRecorder;
  /** For the worker role. Undefined where a process that dies takes its counters with it. */
  readonly sweep: UsageSweep | undefined;
  /** Starts writing usage and month counts to the database. */
  start(flushIntervalMs: number): void;
  /** Writes what is left and lets the counters go. Rejects when the last counts could not be written. */
  stop(): Promise<void>;
}

export interface QuotaParts {
  readonly db: Kysely<Tables>;
  readonly kind: DatabaseHandle['kind'];
  readonly clock: Clock;
  readonly log: Logger;
  /** Told whether usage could be written. */
  readonly witness?: WriteWitness;
}

/** Counters in this process. */
export function openProcessQuotas({ db, kind, clock, log, ...told }: QuotaParts): Quotas {
  const ledger: MonthLedger = new MonthLedger(db, clock, (subject) => counters.monthUsed(subject));
  const rounds = new FlushRounds();
  const counters = new ProcessCounters(clock, ledger, 'store', rounds);
  METRICS.quotaStoreUp.series('process').set(1);
  METRICS.quotaStoreLostTime.series().set(0);
  const windows = new ProcessThrottleWindows(clock);
  const storage = new QuotaStorage(counters, undefined, ledger, windows, clock, log);
  const recorder = new UsageRecorder(clock);
  const isShared = false;
  const options = { isShared, rounds, ...told };
  const flush = new UsageFlush(new UsageTable(db, kind, isShared), ledger, recorder, clock, log, options);
  const forgetting = setInterval(() => counters.forgetIdle(), FORGET_INTERVAL_MS);
  forgetting.unref();
  METRICS.quotaCounters.collect = () => {
    METRICS.quotaCounters.series('account').set(counters.size.accounts);
    METRICS.quotaCounters.series('key').set(counters.size.keys);
  };
  return {
    storage,
    recorder,
    sweep: undefined,
    start: (intervalMs) => flush.start(intervalMs),
    stop: () => {
      clearInterval(forgetting);
      return flush.stop();
    },
  };
}

/**
 * Counters in Redis. Rejects when it does not answer at start: a wrong address must not look like an outage.
 * @param servesRequests whether this process hands out limits: it then counts as one of the nodes that share them.
 */
export async function openRedisQuotas(
  { db, kind, clock, log, ...told }: QuotaParts,
  redisUrl: string,
  servesRequests = true,
): Promise<Quotas> {
  const client = connectRedis(redisUrl, 'counters', log);
  const ledger = new MonthLedger(db, clock);
  const memory = new CounterMemory(ledger);
  ledger.holdsBack = (accountId) => memory.holdsBack(accountId);
  const nodes = new NodeCount(client, servesRequests);
  const alone = new ProcessCounters(clock, ledger, 'local');
  const local = new LocalShare(
    alone,
    ledger,
    () => nodes.place,
    clock,
    (accountId) => ledger.lastOf(accountId),
  );
  const counters: RedisCounters = new RedisCounters(
    client,
    clock,
    ledger,
    (answered, cause) => loss.storeAnswered(answered, cause),
    {
      made: (subject, decision) => storage.made(subject, decision),
      failed: (subject, cost, error) => storage.failed(subject, cost, error),
    },
    REDIS_DEADLINE_MS,
    memory,
  );
  const emptied = new EmptiedStore(nodes, counters, ledger, memory, log);
  const loss = new StoreLoss(counters, new Breaker(clock), local, ledger, () => asksForWrite(client), clock, log);
  try {
    await redisReady(client, REDIS_START_TIMEOUT_MS);
    await counters.synchronise();
    await nodes.beat();
    await warnOfRisks(client, log);
  } catch (error) {
    client.disconnect();
    throw error;
  }
  const windows = new RedisThrottleWindows(client, clock);
  const storage: QuotaStorage = new QuotaStorage(counters, loss, ledger, windows, clock, log);
  const recorder = new UsageRecorder(clock);
  const isShared = true;
  const table = new UsageTable(db, kind, isShared, () => counters.aheadMs);
  const flush = new UsageFlush(table, ledger, recorder, clock, log, { isShared, ...told });
  METRICS.quotaStoreUp.series('redis').set(1);
  const watch = new StoreWatch(loss, async () => {
    void emptied.look();
    await asksForWrite(client);
  });
  watch.start();
  return {
    storage,
    recorder,
    sweep: new UsageSweep(table, client, flush.node, clock, log),
    start: (intervalMs) => flush.start(intervalMs),
    stop: async () => {
      watch.stop();
      try {
        await emptied.look();
        ledger.holdsBack = undefined;
        await flush.stop();
      } finally {
        await nodes.leave();
        client.disconnect();
      }
    },
  };
}
