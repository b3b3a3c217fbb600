/**
 * Opens the limiter, the recording of usage, and the reader of usage, for every process that needs them. A start fails
 * with `StartError` if the counters are unavailable and no plan can decide without them.
 */
import type { SharedDependencies } from '../config/shared-dependencies.js';
import type { GatewayFile } from '../config/model/schema.js';
import { redactUrl } from '../config/summary.js';
import { StartError } from '../platform/start-error.js';
import type { WriteWitness } from '../stores/database/database-health.js';
import { connectRedis, isRefusedForGood, redisReady, REDIS_START_TIMEOUT_MS } from '../stores/redis/connect.js';
import type { WorkSignal } from '../outbox/work-signal.js';
import { openProcessQuotas, openRedisQuotas, type Quotas } from './open-quotas.js';
import type { UsageFollower } from './usage/usage-flush.js';
import { startRefusalGauges } from './usage/top-refusals.js';
import { UsageRows } from './usage/usage-rows.js';
import { UsageReader } from './usage-reader.js';

/** CounterLocation says whether the live counters are in this process, in Redis, or in the counting process. */
export interface CounterLocation {
  /** `REDIS_URL`, or the path of the counting process's socket. Undefined if the counters are in this process. */
  readonly url: string | undefined;
  /**
   * Whether only this machine uses the counters, because they are in a counting process. Other shared data is in the
   * database in this case.
   */
  readonly isCountingProcess: boolean;
}

/** QuotaDependencies holds the dependencies of quotas in addition to `SharedDependencies`. */
export interface QuotaDependencies {
  readonly place: CounterLocation;
  /** Whether this process serves requests. */
  readonly forwards: boolean;
  /** Whether this process cleans up after dead processes. The cleanup reads the shared counters. */
  readonly sweeps: boolean;
  /** Receives the result of each batch of usage that is written. */
  readonly witness: WriteWitness;
  /** Runs after each flush of usage. */
  readonly follower: UsageFollower;
  readonly signal: WorkSignal;
}

/** Quota holds the limiter with its counters, and the reader of usage. */
export interface Quota {
  readonly quotas: Quotas;
  readonly usage: UsageReader;
}

/**
 * Opens quotas, and adds their shutdown steps. Rejects with `StartError` if the counting process does not respond, or
 * if Redis does not respond and all plans have the policy `closed`. Also rejects if Redis refuses the user or password.
 */
export async function openQuota(shared: SharedDependencies, modules: QuotaDependencies): Promise<Quota> {
  const { config, database, clock, log, gauges, shutdown } = shared;
  const { flushInterval } = config.current.file.usage;
  const { place, forwards, sweeps, ...rest } = modules;
  const startsWithout = startsWithoutCounters(place, config.current.file.plans);
  const parts = { db: database.db, kind: database.kind, clock, log: log.logger, startsWithout, ...rest };
  const quotas = await openCounters(parts, place, forwards);
  quotas.start(flushInterval);
  shutdown.add('flush usage', () => quotas.stop());
  const { sweep } = quotas;
  if (sweep !== undefined && sweeps) {
    sweep.start(flushInterval);
    shutdown.add('stop sweeping usage', () => sweep.stop());
  }
  const refusals = startRefusalGauges(quotas.recorder.refusals, () => config.current.file.metrics.topAccounts);
  gauges.push(quotas, refusals);
  const usage = new UsageReader(config.current.file.plans, quotas.limiter, new UsageRows(database.db), clock);
  config.onChange(
    ({ config: next }) =>
      () =>
        usage.replacePlans(next.file.plans),
  );
  return { quotas, usage };
}

async function openCounters(
  parts: Parameters<typeof openProcessQuotas>[0],
  { url, isCountingProcess }: CounterLocation,
  forwards: boolean,
): Promise<Quotas> {
  if (url === undefined) return openProcessQuotas(parts);
  try {
    return await openRedisQuotas(parts, url, forwards);
  } catch (error) {
    throw noCountersError(url, isCountingProcess, error);
  }
}

/**
 * Reports whether the program may start while Redis is unavailable, because a plan can decide without Redis. Never true
 * with a counting process.
 */
function startsWithoutCounters({ isCountingProcess }: CounterLocation, plans: GatewayFile['plans']): boolean {
  return !isCountingProcess && Object.values(plans).some(({ onRedisLoss }) => onRedisLoss !== 'closed');
}

/**
 * Checks that the counters respond. Call it before a start changes anything. Rejects with `StartError` under the same
 * conditions as `openQuota`.
 */
export async function checkCounters(
  place: CounterLocation,
  plans: GatewayFile['plans'],
  log: SharedDependencies['log'],
): Promise<void> {
  const { url, isCountingProcess } = place;
  if (url === undefined) return;
  const client = connectRedis(url, 'start', log.logger);
  try {
    await redisReady(client, REDIS_START_TIMEOUT_MS);
  } catch (error) {
    if (startsWithoutCounters(place, plans) && !isRefusedForGood(error)) return;
    throw noCountersError(url, isCountingProcess, error);
  } finally {
    client.disconnect();
  }
}

function noCountersError(url: string, isCountingProcess: boolean, error: unknown): StartError {
  const reason = error instanceof Error ? error.message : String(error);
  if (isCountingProcess) return new StartError(`The process that counts for all workers does not respond (${reason}).`);
  return new StartError(
    `Redis at ${redactUrl(url)} does not answer (${reason}). Start it, correct REDIS_URL, or unset it to ` +
      'count in this process.',
  );
}
