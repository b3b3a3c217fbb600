/** `trailgate start`: opens the stores, puts the roles together, listens; and takes it all down again in named phases. */
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createAdminApplication } from './admin/admin.application.js';
import type { AdminApiDependencies } from './admin/admin-dependencies.js';
import { Explainer } from './admin/explain/explainer.js';
import { systemClock } from './clock.js';
import { configSummary, redactUrl } from './config/summary.js';
import { publicUrlOf } from './config/load.js';
import type { Config } from './config/schema.js';
import { openDatabase, type DatabaseHandle } from './database/connect.js';
import { lockDataDir } from './database/data-lock.js';
import { setErrorsUrl } from './errors.js';
import { EventOutbox } from './events/outbox.js';
import { createGatewayApplication } from './gateway/gateway.application.js';
import { Cors } from './gateway/cors.js';
import { LifeCycle } from './gateway/life-cycle.js';
import { LiveStreams } from './gateway/live-streams.js';
import { Routes } from './gateway/routes.js';
import { AccountStore } from './keys/accounts.js';
import { ApiKeyStore } from './keys/api-key-store.js';
import { AuditLog } from './keys/audit-log.js';
import { Catalogue } from './keys/catalogue.js';
import { FailedAttempts } from './keys/failed-attempts.js';
import { QuotaAdjustmentStore } from './keys/quota-adjustments.js';
import { openKeys, type Keys } from './keys/open-keys.js';
import type { Log } from './log.js';
import { METRICS, metricsText } from './metrics.js';
import { operatorToken } from './admin/operator-token.js';
import { Forwarder } from './proxy/forwarder.js';
import { openProcessQuotas, openRedisQuotas, type Quotas } from './quotas/open-quotas.js';
import { UsageReader } from './quotas/usage.js';
import { UsageRetention } from './quotas/usage-retention.js';
import { UsageRows } from './quotas/usage-rows.js';
import { ReferenceModule } from './reference/reference.module.js';
import { announce, listen, listenQuietly, refuseTakenPort } from './listen.js';
import { readiness } from './readiness.js';
import { Shutdown } from './shutdown.js';
import { StartError } from './start-error.js';
import { VERSION } from './version.js';
import { WorkerPool } from './workers/worker-pool.js';

export const ROLES = ['gateway', 'admin', 'worker'] as const;
export type Role = (typeof ROLES)[number];

/** How the gateway role is spread over processes. */
export interface Processes {
  /** More than one: that many workers share the listener, and this process holds it. */
  readonly workers: number;
  /** Command line of a worker. */
  readonly workerArgs: readonly string[];
  /** This process is one of them: health and metrics are the pool's. */
  readonly isWorker: boolean;
}

const ONE_PROCESS: Processes = { workers: 1, workerArgs: [], isWorker: false };

/** The program while it runs. */
export interface Running {
  readonly gatewayUrl: string | undefined;
  /** Undefined in a worker. */
  readonly adminUrl: string | undefined;
  readonly operatorToken: string | undefined;
  readonly database: DatabaseHandle;
  readonly accounts: AccountStore;
  readonly keyStore: ApiKeyStore;
  /** Ends everything; resolves when nothing is left. Later calls wait for the first. */
  stop(): Promise<void>;
}

const DRAIN_TIMEOUT_MS = 20_000;
/** A worker drains, and takes down the rest of what it has. */
const WORKERS_STOP_TIMEOUT_MS = 30_000;
const PHASE_MARGIN_MS = 1_000;
/** What the drain left has had its time. */
const CLOSE_BACKENDS_TIMEOUT_MS = 1_000;
const IDLE_SWEEP_INTERVAL_MS = 100;
const HOUSEKEEPING_INTERVAL_MS = 86_400_000;

/**
 * Starts the roles. Rejects with `StartError`, or an error whose message is ready to be shown, when something that is needed is not
 * there; whatever was opened until then is closed again.
 */
export async function start(
  config: Config,
  roles: readonly Role[],
  log: Log,
  processes: Processes = ONE_PROCESS,
): Promise<Running> {
  const shutdown = new Shutdown(log);
  try {
    return await open(config, roles, processes, log, shutdown);
  } catch (error) {
    await shutdown.run();
    throw error;
  }
}

/** What every role stands on. */
interface Domain {
  readonly config: Config;
  readonly database: DatabaseHandle;
  readonly quotas: Quotas;
  readonly keys: Keys;
  readonly catalogue: Catalogue;
  readonly accounts: AccountStore;
  readonly keyStore: ApiKeyStore;
  readonly quotaAdjustments: QuotaAdjustmentStore;
  readonly events: EventOutbox;
  readonly usage: UsageReader;
  /** Only where requests are forwarded. */
  readonly forwarder: Forwarder | undefined;
}

async function open(
  config: Config,
  roles: readonly Role[],
  processes: Processes,
  log: Log,
  shutdown: Shutdown,
): Promise<Running> {
  if (processes.workers > 1 && config.environment.redisUrl === undefined) {
    throw new StartError(
      `--workers ${processes.workers} needs REDIS_URL: with counters in the process, every worker would hand out the whole limit.`,
    );
  }
  setErrorsUrl(`${config.publicUrl}/docs/errors/`);
  METRICS.buildInfo.series(VERSION).set(1);
  log.logger.info({ event: 'starting', version: VERSION, roles, ...configSummary(config) }, 'Trailgate starts');
  // With workers, each of them forwards, and this process does not.
  const forwards = roles.includes('gateway') && (processes.isWorker || processes.workers === 1);
  const domain = await openDomain(config, roles, forwards, log, shutdown);
  const { dataDir, adminToken } = config.environment;
  const token = roles.includes('admin') ? await tokenOf(dataDir, adminToken) : undefined;
  if (roles.includes('worker')) startWorker(domain, log, shutdown);
  const pool: PoolHolder = { current: undefined };
  const adminUrl = processes.isWorker ? undefined : await startAdmin(domain, token, pool, log, shutdown);
  const gatewayUrl = roles.includes('gateway')
    ? await startGatewayRole(domain, processes, pool, log, shutdown)
    : undefined;
  const { database, accounts, keyStore } = domain;
  return { gatewayUrl, adminUrl, operatorToken: token, database, accounts, keyStore, stop: () => shutdown.run() };
}

/** The pool starts after the admin listener, which shows it. */
interface PoolHolder {
  current: WorkerPool | undefined;
}

/** In this process, or in as many workers as were asked for. */
async function startGatewayRole(
  domain: Domain,
  { workers, workerArgs, isWorker }: Processes,
  holder: PoolHolder,
  log: Log,
  shutdown: Shutdown,
): Promise<string> {
  if (isWorker) return startGateway(domain, true, log, shutdown);
  if (workers === 1) {
    const url = await startGateway(domain, false, log, shutdown);
    announce('gateway', url, log);
    return url;
  }
  await refuseTakenPort('gateway', domain.config.file.gateway);
  try {
    const { pool, gatewayUrl } = await WorkerPool.start(workers, workerArgs, log.logger);
    holder.current = pool;
    shutdown.add('stop workers', () => pool.stop(WORKERS_STOP_TIMEOUT_MS), WORKERS_STOP_TIMEOUT_MS + PHASE_MARGIN_MS);
    announce('gateway', gatewayUrl, log);
    return gatewayUrl;
  } catch (error) {
    throw new StartError(error instanceof Error ? error.message : String(error));
  }
}

async function tokenOf(dataDir: string, given: string | undefined): Promise<string> {
  try {
    return await operatorToken(dataDir, given);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `The operator token cannot be kept in ${dataDir} (${reason}). Set TRAILGATE_ADMIN_TOKEN, or TRAILGATE_DATA_DIR to a folder that can be written.`,
    );
  }
}

async function openDomain(
  config: Config,
  roles: readonly Role[],
  forwards: boolean,
  log: Log,
  shutdown: Shutdown,
): Promise<Domain> {
  const { environment, file } = config;
  const database = await openStores(config, log, shutdown);
  const parts = { db: database.db, kind: database.kind, clock: systemClock, log: log.logger };
  const quotas = await openQuotas(parts, environment.redisUrl, forwards);
  quotas.start(file.usage.flushInterval);
  shutdown.add('flush usage', () => quotas.stop());
  // SQLite without Redis is locked to one process; PostgreSQL may have others that change keys.
  const alone = environment.databaseUrl === undefined;
  const keys = openKeys({ ...parts, plans: file.plans, redisUrl: environment.redisUrl, alone });
  shutdown.add('flush keys', () => keys.stop());
  await warnOfUnknownPlans(database, file.plans, log);
  const catalogue = new Catalogue(() => config);
  const storeDeps = { database, clock: systemClock, bus: keys.bus, catalogue };
  return {
    config,
    database,
    quotas,
    keys,
    catalogue,
    accounts: new AccountStore(storeDeps),
    keyStore: new ApiKeyStore(storeDeps),
    quotaAdjustments: new QuotaAdjustmentStore({
      ...storeDeps,
      counters: quotas.storage,
      // Without Redis they are where the requests are.
      hasCounters: environment.redisUrl !== undefined || roles.includes('gateway'),
    }),
    events: new EventOutbox(database.db, systemClock),
    usage: new UsageReader(file.plans, quotas.storage, new UsageRows(database.db), systemClock),
    forwarder: forwards ? openForwarder(file, log, shutdown) : undefined,
  };
}

/** Resolves and checks the targets from now on. */
function openForwarder({ services }: Config['file'], log: Log, shutdown: Shutdown): Forwarder {
  const forwarder = new Forwarder(services, { log: log.logger });
  shutdown.add('close backends', () => forwarder.close(CLOSE_BACKENDS_TIMEOUT_MS));
  return forwarder;
}

/** Housekeeping; webhooks and roll-ups will join it. */
function startWorker({ config, database, quotas, keyStore, events }: Domain, log: Log, shutdown: Shutdown): void {
  const { flushInterval, retention } = config.file.usage;
  const usage = new UsageRetention(database.db, database.kind, retention, systemClock);
  const clean = (): void => {
    for (const forget of [keyStore.deleteDeadSecrets(), events.deleteOld(), usage.deleteOld()]) {
      forget.catch((error: unknown) => {
        log.logger.warn(
          { event: 'housekeeping_failed', err: error },
          'Old secrets, events or usage were not forgotten; tried again tomorrow',
        );
      });
    }
  };
  clean();
  const timer = setInterval(clean, HOUSEKEEPING_INTERVAL_MS);
  timer.unref();
  quotas.sweep?.start(flushInterval);
  shutdown.add('stop worker', async () => {
    clearInterval(timer);
    await quotas.sweep?.stop();
  });
}

/** Without the admin role the listener has health and metrics alone; every process has those. */
async function startAdmin(
  { config, database, quotas, catalogue, accounts, keyStore, quotaAdjustments, events, usage, forwarder }: Domain,
  token: string | undefined,
  pool: PoolHolder,
  log: Log,
  shutdown: Shutdown,
): Promise<string> {
  const api: AdminApiDependencies | null =
    token === undefined
      ? null
      : {
          operatorToken: token,
          accounts,
          keys: keyStore,
          quotaAdjustments,
          auditLog: new AuditLog(database.db),
          events,
          catalogue,
          explainer: new Explainer(config, quotas.storage, systemClock),
          usageReader: usage,
          throttlerStorage: quotas.storage,
        };
  const admin = await createAdminApplication({
    api,
    readiness: () => readiness(shutdown, database, quotas, pool.current, forwarder),
    targets: (nowMs) => forwarder?.targets(nowMs) ?? [],
    metricsText: async () =>
      pool.current === undefined ? metricsText() : pool.current.metricsText(await metricsText()),
    clock: systemClock,
    log: log.logger,
  });
  shutdown.add('close admin', () => admin.close());
  const { url } = await listen(admin, 'admin', config.file.admin, log);
  return url;
}

async function startGateway(
  { config, keys, quotas, usage, forwarder }: Domain,
  isWorker: boolean,
  log: Log,
  shutdown: Shutdown,
): Promise<string> {
  if (forwarder === undefined) throw new Error('a process without backends cannot be a gateway');
  const { file } = config;
  let boundPort = file.gateway.port;
  const publicUrl = (): string => publicUrlOf(file, boundPort);
  const routes = new Routes(config);
  const deps = {
    config,
    routes,
    cors: new Cors(file.gateway.cors, routes),
    lifeCycle: new LifeCycle(config, publicUrl, systemClock),
    authenticator: keys.authenticator,
    failedAttempts: new FailedAttempts(file.gateway.failedAuthentication.perMinute, systemClock, log.logger),
    quotas: quotas.storage,
    recorder: quotas.recorder,
    usage,
    forwarder,
  };
  const gateway = await createGatewayApplication(deps, log, [ReferenceModule.forRoot(config, { publicUrl })]);
  const live = new LiveStreams(() => forwarder.calls(), keys.authenticator);
  live.follow(keys.bus);
  shutdown.add('let go of streams', async () => live.stop());
  shutdown.add('drain gateway', () => drain(gateway), DRAIN_TIMEOUT_MS);
  const scheme = file.gateway.tls === undefined ? 'http' : 'https';
  // Elsewhere node:cluster hands the connections out.
  const shared = isWorker && process.platform === 'linux';
  const { url, port } = await listenQuietly(gateway, 'gateway', file.gateway, scheme, shared);
  boundPort = port;
  setErrorsUrl(`${publicUrl()}/docs/errors/`);
  return url;
}

/** Ends with the last answer. Node closes the connections that are idle now; those that become so would be kept alive. */
async function drain(gateway: NestFastifyApplication): Promise<void> {
  const server = gateway.getHttpServer();
  const timer = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_INTERVAL_MS);
  try {
    await gateway.close();
  } finally {
    clearInterval(timer);
  }
}

async function openStores({ environment }: Config, log: Log, shutdown: Shutdown): Promise<DatabaseHandle> {
  const { dataDir, databaseUrl, redisUrl } = environment;
  if (redisUrl === undefined && databaseUrl === undefined) {
    // Counters live in this process: a second one on the same data would hand out every limit twice.
    const release = lockDataDir(dataDir);
    shutdown.add('release data folder', async () => release());
  }
  if (redisUrl === undefined && databaseUrl !== undefined) {
    log.logger.warn(
      { event: 'counters_in_process' },
      'PostgreSQL without Redis: run one gateway process only, or every process will hand out the whole limit',
    );
  }
  const database = await openDatabase({ dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) });
  shutdown.add('close database', () => database.close());
  return database;
}

async function openQuotas(
  parts: Parameters<typeof openProcessQuotas>[0],
  redisUrl: string | undefined,
  servesRequests: boolean,
): Promise<Quotas> {
  if (redisUrl === undefined) return openProcessQuotas(parts);
  try {
    return await openRedisQuotas(parts, redisUrl, servesRequests);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `Redis at ${redactUrl(redisUrl)} does not answer (${reason}). Start it, correct REDIS_URL, or unset it to count in this process.`,
    );
  }
}

/** An account whose plan has gone from the configuration is answered with 503; whoever edits the file should know. */
async function warnOfUnknownPlans(database: DatabaseHandle, plans: Config['file']['plans'], log: Log): Promise<void> {
  const rows = await database.db.selectFrom('account').select('plan').distinct().execute();
  const unknown = rows.map(({ plan }) => plan).filter((plan) => !Object.hasOwn(plans, plan));
  if (unknown.length === 0) return;
  log.logger.error(
    { event: 'unknown_plans', plans: unknown },
    'Accounts have plans that gateway.yaml does not have; their requests are refused with 503',
  );
}
