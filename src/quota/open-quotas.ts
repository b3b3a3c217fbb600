/**
 * Constructs the parts for limits and usage. The counters are in this process, in Redis, or in the counting process.
 */
import type { Redis } from 'ioredis';
import type { Kysely } from 'kysely';
import type { Clock } from '../platform/clock.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { WriteWitness } from '../stores/database/database-health.js';
import type { Tables } from '../stores/database/schema.js';
import type { WorkSignal } from '../outbox/work-signal.js';
import type { Logger } from '../platform/log.js';
import type { ReadsGauges } from '../platform/collect-metrics.js';
import { METRICS } from '../platform/metrics.js';
import {
  connectRedis,
  isRefusedForGood,
  REDIS_DEADLINE_MS,
  REDIS_START_TIMEOUT_MS,
  redisReady,
  storeName,
} from '../stores/redis/connect.js';
import { warnOfRisks } from '../stores/redis/risks.js';
import { Breaker } from '../platform/breaker.js';
import { CounterMemory } from './model/counter-memory.js';
import { Degradation, type StoreName } from './degradation.js';
import { StoreRestoration } from './store-restoration.js';
import { FlushProgress } from './model/flush-progress.js';
import { MonthLedger } from './usage/month-ledger.js';
import { LocalShare } from './local-share.js';
import { LimiterSink } from './limiter-sink.js';
import { NodeCount } from './redis/node-count.js';
import { ProcessCounters } from './process/process-counters.js';
import { Limiter } from './limiter.js';
import { RedisCounters } from './redis/redis-counters.js';
import { Recovery } from './recovery.js';
import { ShadowLimits } from './shadow-limits.js';
import { probeWrite, StoreWatch } from './store-watch.js';
import { UsageFlush, type UsageFollower } from './usage/usage-flush.js';
import { UsageRecorder } from './usage/usage-recorder.js';
import { UsageSweep } from './usage/usage-sweep.js';
import { UsageTable } from './usage/usage-table.js';
import { ProcessThrottleWindows, RedisThrottleWindows, type ThrottleWindows } from './throttle-windows.js';

const REAP_INTERVAL_MS = 1_000;
/**
 * Time without a write of usage after which a node is considered dead. Applies only if a start without Redis estimates
 * the number of nodes.
 */
const WRITER_GONE_MS = 60_000;

/** Quotas holds the parts for limits and usage of one process, with their start and stop. */
export interface Quotas extends ReadsGauges {
  readonly limiter: Limiter;
  readonly recorder: UsageRecorder;
  /**
   * Cleans up after dead processes. Only processes with the worker role, or with their own counting process, start it.
   * Undefined if the counters are in this process, because no other process uses them.
   */
  readonly sweep: UsageSweep | undefined;
  readonly throttleWindows: ThrottleWindows;
  /** Starts writing usage and month counts to the database. */
  start(flushIntervalMs: number): void;
  /** Writes the remaining usage and closes the counters. Rejects if the last counts could not be written. */
  stop(): Promise<void>;
}

/** QuotaParts holds the dependencies and settings of quotas. */
export interface QuotaParts {
  readonly db: Kysely<Tables>;
  readonly kind: DatabaseHandle['kind'];
  readonly clock: Clock;
  readonly log: Logger;
  /** Receives the result of each batch of usage that is written. */
  readonly witness?: WriteWitness;
  /** Runs after each flush of usage. */
  readonly follower?: UsageFollower;
  /** Receives the webhook endpoints that get usage notices. */
  readonly signal?: WorkSignal;
  /** Whether this process may start without Redis. Plans then decide by `onRedisLoss` from the first request on. */
  readonly startsWithout?: boolean;
  /** Time between two checks of Redis, in ms. Tests set a shorter one. */
  readonly watchIntervalMs?: number;
}

/** Opens quotas with counters in this process. */
export function openProcessQuotas({ db, kind, clock, log, ...rest }: QuotaParts): Quotas {
  const ledger = new MonthLedger(db, clock);
  const rounds = new FlushProgress();
  const shadows = new ShadowLimits(clock, false);
  const sink = new LimiterSink(ledger, shadows, clock);
  const counters = new ProcessCounters(clock, ledger, 'store', rounds, sink);
  METRICS.quotaStoreUp.series('process').set(1);
  METRICS.quotaStoreLostTime.series().set(0);
  const windows = new ProcessThrottleWindows(clock);
  const limiter = new Limiter(counters, shadows, ledger, windows, clock, log);
  const recorder = new UsageRecorder(clock);
  const isShared = false;
  const options = { isShared, exact: counters, rounds, ...rest };
  const flush = new UsageFlush(new UsageTable(db, kind, isShared), ledger, recorder, clock, log, options);
  const reapTimer = setInterval(() => counters.reapIdle(), REAP_INTERVAL_MS);
  reapTimer.unref();
  return {
    limiter,
    recorder,
    readGauges: () => {
      METRICS.quotaCounters.series('account').set(counters.size.accounts);
      METRICS.quotaCounters.series('key').set(counters.size.keys);
      flush.readGauges();
    },
    sweep: undefined,
    throttleWindows: windows,
    start: (intervalMs) => flush.start(intervalMs),
    stop: () => {
      clearInterval(reapTimer);
      return flush.stop();
    },
  };
}

/**
 * Opens quotas with counters in Redis, or in the counting process of all workers. Rejects if the counters do not
 * respond and `startsWithout` is not set. Also rejects if Redis refuses the user or password.
 * @param url as in `connectRedis`.
 * @param servesRequests whether this process serves requests. If so, it is one of the nodes that share limits.
 */
export async function openRedisQuotas(
  { db, kind, clock, log, startsWithout = false, watchIntervalMs, ...rest }: QuotaParts,
  url: string,
  servesRequests = true,
): Promise<Quotas> {
  const client = connectRedis(url, 'counters', log);
  const inLog = storeName(url);
  const store: StoreName = { inLog, inMetrics: inLog === 'Redis' ? 'redis' : 'process' };
  const ledger = new MonthLedger(db, clock);
  const memory = new CounterMemory(ledger);
  const nodes = new NodeCount(client, servesRequests);
  const localCounters = new ProcessCounters(clock, ledger, 'local');
  const local = new LocalShare(
    localCounters,
    ledger,
    () => nodes.position,
    clock,
    (accountId) => ledger.findLatestSubject(accountId),
  );
  const degradation = new Degradation(new Breaker(clock), local, clock, log, store);
  const shadows = new ShadowLimits(clock, true);
  const sink = new LimiterSink(ledger, shadows, clock, degradation);
  const counters = new RedisCounters(client, clock, ledger, sink, REDIS_DEADLINE_MS, memory);
  const restoration = new StoreRestoration(nodes, counters, ledger, memory, log, store.inLog);
  let isReached = false;
  const connect = async (): Promise<void> => {
    await counters.synchronizeClock();
    await restoration.checkStore();
    await warnOfRisks(client, log);
    isReached = true;
  };
  const probe = async (): Promise<void> => {
    // Check also while the store is lost, because the counting process may be waiting for this node's report.
    void restoration.checkStore();
    await probeWrite(client);
    if (!isReached) await connect();
  };
  const recovery = new Recovery(counters, degradation, ledger, probe);
  const isShared = true;
  const table = new UsageTable(db, kind, isShared, () => counters.aheadMs);
  METRICS.quotaStoreUp.series(store.inMetrics).set(1);
  try {
    await redisReady(client, REDIS_START_TIMEOUT_MS);
    await connect();
  } catch (error) {
    if (!startsWithout || isRefusedForGood(error)) {
      client.disconnect();
      throw error;
    }
    // Estimate the number of nodes from the usage that they write, because each node decides by its share of the
    // limits.
    nodes.assumeCount(1 + (await table.countWriters(clock.now() - WRITER_GONE_MS)));
    degradation.onCallEnd(false, error);
  }
  const windows = new RedisThrottleWindows(client, clock);
  const fallback = { degradation, recovery };
  const limiter = new Limiter(counters, shadows, ledger, windows, clock, log, fallback);
  const recorder = new UsageRecorder(clock);
  const flush = new UsageFlush(table, ledger, recorder, clock, log, { isShared, memory, ...rest });
  const watch = new StoreWatch(degradation, recovery, probe, watchIntervalMs);
  watch.start();
  // A new connection may reach an empty server.
  (client as Redis).on('ready', () => void restoration.checkStore());
  return {
    limiter,
    recorder,
    readGauges: () => {
      for (const source of [nodes, degradation, flush]) source.readGauges();
    },
    sweep: new UsageSweep(table, client, flush.node, clock, log),
    throttleWindows: windows,
    start: (intervalMs) => flush.start(intervalMs),
    stop: async () => {
      watch.stop();
      try {
        await recovery.replayRemaining();
        await restoration.checkStore();
        await flush.stop();
      } finally {
        await nodes.removeNode();
        client.disconnect();
      }
    },
  };
}
