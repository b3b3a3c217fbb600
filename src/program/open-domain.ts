/**
 * What every role stands on: the database, the counters, the keys, the backends; opened once,
 * and told of a changed configuration.
 */
import { dirname } from 'node:path';
import { systemClock } from '../platform/clock.js';
import { longestAccessMs } from '../config/model/mcp-schema.js';
import type { RunningConfig } from '../config/running-config.js';
import type { Config } from '../config/model/schema.js';
import { redactUrl } from '../config/summary.js';
import { openDatabase, type DatabaseHandle } from '../stores/database/connect.js';
import { DatabaseHealth } from '../stores/database/database-health.js';
import { notifyBy, WorkSignal } from '../outbox/work-signal.js';
import { EmittedEvents } from '../webhooks/intake/emitted-events.js';
import { openWebhooks, type Webhooks } from '../webhooks/management/open-webhooks.js';
import { EventOutbox } from '../outbox/outbox.js';
import { clockAheadMs as clockAhead, recordTime, type RecordTime } from '../idempotency/database-records.js';
import type { KeyedRequests } from '../idempotency/keyed-requests.js';
import { openKeyedRequests } from '../idempotency/open-keyed-requests.js';
import { keepClient } from '../authorization/clients/authorization-requests.js';
import { OAuthObjects } from '../authorization/clients/oauth-objects.js';
import { AccountStore, type StoreDependencies } from '../accounts/accounts.js';
import { ApiKeyStore } from '../accounts/api-key-store.js';
import { Catalogue } from '../accounts/catalogue.js';
import { openKeys, type Keys } from '../keys/open-keys.js';
import { keepPlansInUse, plansMissing } from '../accounts/plans-in-use.js';
import { QuotaAdjustmentStore } from '../accounts/quota-adjustments.js';
import type { Log } from '../platform/log.js';
import type { ReadsGauges } from '../platform/metrics-text.js';
import { connectRedis, redisReady, REDIS_START_TIMEOUT_MS } from '../stores/redis/connect.js';
import type { EventSink } from '../proxy/calls/event-keeper.js';
import { Forwarder } from '../proxy/calls/forwarder.js';
import { openProcessQuotas, openRedisQuotas, type Quotas } from '../quota/open-quotas.js';
import { UsageReader } from '../quota/usage-reader.js';
import { RequestLogRecorder } from '../request-logs/recorder.js';
import { RequestLogFlush } from '../request-logs/request-log-flush.js';
import { RequestLogWriter } from '../request-logs/request-log-writer.js';
import { showRefusals } from '../quota/usage/top-refusals.js';
import { UsageRows } from '../quota/usage/usage-rows.js';
import { openSecretBox } from '../stores/secrets/secrets-key.js';
import type { SecretBox } from '../stores/secrets/secret-box.js';
import type { CounterPlace } from './place-counters.js';
import type { Role } from './roles.js';
import { webhookSender } from './webhook-sender.js';
import type { Shutdown } from './shutdown.js';
import { SHORTAGES } from '../platform/resources/shortages.js';
import { StartError } from '../platform/start-error.js';
import { tellPoolOfWork } from './workers/worker-process.js';

/** What the drain left has had its time. */
const CLOSE_BACKENDS_TIMEOUT_MS = 1_000;

/** Stores holds what the program keeps of its customers. */
export interface Stores {
  readonly database: DatabaseHandle;
  readonly accounts: AccountStore;
}

/** What every role stands on. */
export interface Domain extends Stores {
  /** Knows how the database is; probes it once it is started. */
  readonly databaseHealth: DatabaseHealth;
  readonly config: RunningConfig;
  readonly counterPlace: CounterPlace;
  readonly quotas: Quotas;
  readonly requestLogs: RequestLogRecorder;
  readonly keys: Keys;
  readonly catalogue: Catalogue;
  readonly keyStore: ApiKeyStore;
  readonly quotaAdjustments: QuotaAdjustmentStore;
  readonly events: EventOutbox;
  /** Told of webhook endpoints that have something to do. */
  readonly workSignal: WorkSignal;
  readonly usage: UsageReader;
  readonly webhooks: Webhooks;
  /** What a scrape reads of all these; a role that begins later adds its own. */
  readonly gauges: ReadsGauges[];
  /** Null where nothing is sealed or opened here, and without a key that all machines have. */
  readonly secretBox: SecretBox | null;
  /** As the forwarder: only where requests are forwarded. */
  readonly keyedRequests: KeyedRequests | undefined;
  /** How far ahead of the machine's count the clock was when the first process began. */
  readonly clockAheadMs: number;
  /** What time it is for what is kept of requests with an `Idempotency-Key`. */
  readonly recordTime: RecordTime;
  /** Only where requests are forwarded. */
  readonly forwarder: Forwarder | undefined;
}

/** What this process is for, and where it counts. */
export interface DomainPlace {
  readonly running: RunningConfig;
  readonly roles: readonly Role[];
  readonly forwards: boolean;
  /** Not a worker of another process, which has the data folder. */
  readonly isFirst: boolean;
  readonly counterPlace: CounterPlace;
  /** That of the first process; undefined: this one is the first. */
  readonly clockAheadMs?: number | undefined;
}

/**
 * Opens the stores and what is decided on them. What it opens is taken down by `shutdown`.
 * @param beforeBackends called before the targets are resolved and their health is checked.
 */
export async function openDomain(
  { running, roles, forwards, isFirst, counterPlace, clockAheadMs = clockAhead(systemClock) }: DomainPlace,
  log: Log,
  shutdown: Shutdown,
  beforeBackends: (stores: Stores) => Promise<void> = async () => {},
): Promise<Domain> {
  const config = running.current;
  const { environment, file } = config;
  const secretBox = roles.some((role) => role !== 'gateway') ? await secretBoxOf(config) : null;
  const database = await openStores(config, counterPlace, isFirst, log, shutdown);
  const parts = { db: database.db, kind: database.kind, clock: systemClock, log: log.logger };
  const time = { clockAheadMs, recordTime: recordTime(database.kind, clockAheadMs) };
  const databaseHealth = new DatabaseHealth(database, systemClock, log.logger);
  const requestLogs = new RequestLogRecorder(file.api.basePath, file.usage.requestLogRetention > 0);
  const follower = new RequestLogFlush(requestLogs, new RequestLogWriter(database.db, database.kind), log.logger);
  const workSignal = new WorkSignal(database.kind === 'postgres' ? notifyBy(database.db) : tellPoolOfWork);
  const told = { witness: databaseHealth, follower, signal: workSignal };
  const quotas = await openQuotas({ ...parts, ...told }, counterPlace, forwards);
  quotas.start(file.usage.flushInterval);
  shutdown.add('flush usage', () => quotas.stop());
  const { sweep } = quotas;
  // A program with another role cannot ask the process that counts for these workers.
  if (sweep !== undefined && (roles.includes('worker') || (isFirst && counterPlace.isOwn))) {
    sweep.start(file.usage.flushInterval);
    shutdown.add('stop sweeping usage', () => sweep.stop());
  }
  // SQLite without Redis is locked to one program; PostgreSQL may have others that change keys.
  const hearsAll = environment.databaseUrl === undefined || environment.redisUrl !== undefined;
  const keys = openKeys({ ...parts, plans: file.plans, redisUrl: counterPlace.url, hearsAll });
  shutdown.add('flush keys', () => keys.stop());
  await warnOfUnknownPlans(database, file.plans, log);
  const catalogue = new Catalogue(() => running.current);
  const storeDeps: StoreDependencies = {
    database,
    clock: systemClock,
    bus: keys.bus,
    catalogue,
    signal: workSignal,
    longestAccessMs: () => longestAccessMs(running.current.file.mcp),
    keepClient: (trx, clientId, endsMs) => keepClient(new OAuthObjects(trx, systemClock), clientId, endsMs),
  };
  const accounts = new AccountStore(storeDeps);
  const refusals = showRefusals(quotas.recorder.refusals, () => running.current.file.metrics.topAccounts);
  const usage = new UsageReader(file.plans, quotas.limiter, new UsageRows(database.db), systemClock);
  await beforeBackends({ database, accounts });
  const emitted = new EmittedEvents(database.db, systemClock, workSignal, log.logger, () => running.current.eventTypes);
  // Behind the last response, and before the database is closed.
  shutdown.add('write emitted events', () => emitted.stop());
  const keyedRequests = forwards ? await openKeyedRequests({ ...parts, ...time }, environment.redisUrl) : undefined;
  // Behind the last response as well.
  if (keyedRequests !== undefined) shutdown.add('write what came of keyed requests', () => keyedRequests.stop());
  const forwarder = forwards ? openForwarder(config, emitted, log, shutdown) : undefined;
  running.onChange(async ({ config: next }) => {
    const { file: changed } = next;
    await keepPlansInUse(database.db, running.current.file.plans, next);
    const services = await forwarder?.prepare(changed.services);
    return () => {
      keys.use(changed.plans);
      usage.use(changed.plans);
      requestLogs.isOn = changed.usage.requestLogRetention > 0;
      forwarder?.use(changed.services, services);
      void warnOfUnknownPlans(database, changed.plans, log).catch(() => undefined);
    };
  });
  return {
    config: running,
    counterPlace,
    ...time,
    database,
    databaseHealth,
    quotas,
    requestLogs,
    keys,
    catalogue,
    accounts,
    keyStore: new ApiKeyStore(storeDeps),
    quotaAdjustments: new QuotaAdjustmentStore({
      ...storeDeps,
      counters: quotas.limiter,
      // Without Redis they are where the requests are.
      hasCounters: counterPlace.url !== undefined || roles.includes('gateway'),
    }),
    events: new EventOutbox(database.db, systemClock),
    workSignal,
    usage,
    gauges: [
      databaseHealth,
      follower,
      quotas,
      keys,
      refusals,
      emitted,
      ...[keyedRequests ?? [], forwarder ?? []].flat(),
    ],
    secretBox,
    webhooks: openWebhooks({
      database,
      clock: systemClock,
      secretBox,
      signal: workSignal,
      sender: webhookSender(running, shutdown),
      throttles: quotas.throttleWindows,
      file: () => running.current.file,
      eventTypes: () => running.current.eventTypes ?? [],
    }),
    forwarder,
    keyedRequests,
  };
}

function secretBoxOf({ environment: { dataDir, secretsKey, databaseUrl } }: Config) {
  return openSecretBox(dataDir, secretsKey, databaseUrl === undefined);
}

/** Resolves and checks the targets from now on. */
function openForwarder(
  { file: { services }, path }: Config,
  events: EventSink,
  log: Log,
  shutdown: Shutdown,
): Forwarder {
  SHORTAGES.log = log.logger;
  const forwarder = new Forwarder(services, { log: log.logger, folder: dirname(path), events });
  shutdown.add('close backends', () => forwarder.close(CLOSE_BACKENDS_TIMEOUT_MS));
  return forwarder;
}

async function openStores(
  { environment }: Config,
  counterPlace: CounterPlace,
  isFirst: boolean,
  log: Log,
  shutdown: Shutdown,
): Promise<DatabaseHandle> {
  const { dataDir, databaseUrl, redisUrl } = environment;
  if (redisUrl === undefined && databaseUrl !== undefined && isFirst) {
    log.logger.warn(
      { event: 'counters_in_process' },
      'PostgreSQL without Redis: run one gateway only, with its workers, or each will hand out the whole limit',
    );
  }
  const database = await openDatabase({
    dataDir,
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    beforeMigration: () => refuseLostRedis(counterPlace, log),
  });
  shutdown.add('close database', () => database.close());
  const { migrated } = database;
  if (migrated !== undefined) {
    const { from, to, count, copy } = migrated;
    const fields = { event: 'migrated', from, to, migrations: count, copy };
    log.logger.info(fields, 'The start has migrated the database');
  }
  return database;
}

/** Keeps a start that fails for Redis from migrating the database. Rejects with `StartError`. */
async function refuseLostRedis(place: CounterPlace, log: Log): Promise<void> {
  if (place.url === undefined) return;
  const client = connectRedis(place.url, 'start', log.logger);
  try {
    await redisReady(client, REDIS_START_TIMEOUT_MS);
  } catch (error) {
    throw lostRedis(place.url, place.isOwn, error);
  } finally {
    client.disconnect();
  }
}

function lostRedis(url: string, isOwn: boolean, error: unknown): StartError {
  const reason = error instanceof Error ? error.message : String(error);
  if (isOwn) return new StartError(`The process that counts for all workers does not respond (${reason}).`);
  return new StartError(
    `Redis at ${redactUrl(url)} does not answer (${reason}). Start it, correct REDIS_URL, or unset it to ` +
      'count in this process.',
  );
}

async function openQuotas(
  parts: Parameters<typeof openProcessQuotas>[0],
  { url, isOwn }: CounterPlace,
  servesRequests: boolean,
): Promise<Quotas> {
  if (url === undefined) return openProcessQuotas(parts);
  try {
    return await openRedisQuotas(parts, url, servesRequests);
  } catch (error) {
    throw lostRedis(url, isOwn, error);
  }
}

/** An account whose plan has gone from the configuration is answered with 503; whoever edits the file should know. */
async function warnOfUnknownPlans(database: DatabaseHandle, plans: Config['file']['plans'], log: Log): Promise<void> {
  const unknown = await plansMissing(database.db, plans);
  if (unknown.length === 0) return;
  log.logger.error(
    { event: 'unknown_plans', plans: unknown },
    'Accounts have plans that gateway.yaml does not have; their requests are refused with 503',
  );
}
