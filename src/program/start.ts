/**
 * Starts the program for `trailgate start` and `trailgate demo`. Opens the stores, roles and listeners, and registers
 * the phases of the shutdown. If a part fails to start, closes the parts that are already open.
 */
import { operatorToken } from '../admin/access/operator-token.js';
import { systemClock } from '../platform/clock.js';
import { RunningConfig, withoutDocuments } from '../config/running-config.js';
import type { LoadedConfig } from '../config/model/loaded-config.js';
import { configSummary } from '../config/summary.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { tightenDataFiles } from '../stores/database/data-folder.js';
import { deliverWebhooks } from './deliver-webhooks.js';
import { startGatewayRole, type PoolHolder } from './gateway-role.js';
import { lowerHelperThreadPriority } from './machine/helper-threads.js';
import { releaseMemoryWhenIdle, leaveRoomToGrow } from './machine/idle-memory.js';
import type { AccountStore } from '../accounts/accounts.js';
import type { ApiKeyStore } from '../accounts/api-key-store.js';
import { portOf } from '../platform/listen.js';
import type { Log } from '../platform/log.js';
import type { Members } from '../members/sign-in/open-members.js';
import { METRICS } from '../platform/metrics.js';
import type { Family } from '../platform/metrics/family.js';
import { NodeStatuses } from '../nodes/node-statuses.js';
import { openAdmission } from '../admission/open.js';
import { openModules, type Customers, type Modules } from './modules.js';
import { openStores } from './open-stores.js';
import { ownMetrics, startAdmin } from './open-admin.js';
import { clockAheadMs, recordTime } from '../idempotency/database-records.js';
import { claimPorts } from './claim-ports.js';
import { startHousekeeping, tasksOf } from './housekeeping.js';
import { lockData } from './lock-data.js';
import { locateCounters } from './place-counters.js';
import { openNodes, ProcessView } from './process-view.js';
import { TopAccounts } from '../quota/usage/top-accounts.js';
import { describeApis } from '../reference/describe-api.js';
import { Reload } from './reload/reload.js';
import { ONE_PROCESS, type Processes, type Role } from './roles.js';
import { sendMail } from './send-mail.js';
import type { Shutdown } from '../platform/shutdown.js';
import { StartError } from '../platform/start-error.js';
import { VERSION } from '../platform/version.js';
import type { WorkerState } from './workers/messages.js';

/** Running is the started program. */
export interface Running {
  readonly gatewayUrl: string | undefined;
  /** Local URL of the admin listener. Undefined if there is none. */
  readonly adminUrl: string | undefined;
  readonly operatorToken: string | undefined;
  /** Members and their sign-ins. Undefined without the admin role. */
  readonly members: Members | undefined;
  /** URL of the panel. Undefined in a worker. */
  readonly panelUrl: string | undefined;
  readonly database: DatabaseHandle;
  readonly accounts: AccountStore;
  readonly keyStore: ApiKeyStore;
  /** Returns the state of this process. */
  state(): WorkerState;
  /** Returns the metrics of this process, without its workers. */
  metrics(): Promise<readonly Family[]>;
}

/**
 * Starts the roles. Rejects with an error whose message tells the operator what to do, such as `StartError`, if a
 * dependency is missing. Rejects with `ShutdownBegun` if the shutdown begins. Before rejecting, runs the shutdown,
 * which closes everything that was opened.
 * @param beforeBackends called when the stores are open, before backends are contacted and before anything listens.
 */
export async function start(
  config: LoadedConfig,
  roles: readonly Role[],
  log: Log,
  shutdown: Shutdown,
  processes: Processes = ONE_PROCESS,
  beforeBackends?: (customers: Customers) => Promise<void>,
): Promise<Running> {
  try {
    return await open(config, roles, processes, log, shutdown, beforeBackends);
  } catch (error) {
    await shutdown.run();
    throw error;
  }
}

async function open(
  config: LoadedConfig,
  roles: readonly Role[],
  processes: Processes,
  log: Log,
  shutdown: Shutdown,
  beforeBackends: ((customers: Customers) => Promise<void>) | undefined,
): Promise<Running> {
  METRICS.buildInfo.series(VERSION).set(1);
  log.logger.info({ event: 'starting', version: VERSION, roles, ...configSummary(config) }, 'Trailgate starts');
  // With `--workers`, only the worker processes forward requests.
  const forwards = roles.includes('gateway') && (processes.isWorker || processes.workers === 1);
  leaveRoomToGrow();
  if (forwards) lowerHelperThreadPriority();
  const running = new RunningConfig(withoutDocuments(config));
  const description = forwards ? describeApis(config) : undefined;
  const reload = new Reload(running, forwards, systemClock, log.logger);
  const isFirst = !processes.isWorker;
  const lockedFolder = isFirst ? await lockData(config, log, shutdown) : undefined;
  // These checks can fail, so they run before the database is opened and migrated.
  if (isFirst) await claimPorts(config.file, roles, processes.workers);
  const { dataDir, adminToken } = config.environment;
  if (isFirst) tightenFiles(dataDir, log);
  const token = roles.includes('admin') ? await tokenOf(dataDir, adminToken) : undefined;
  const counterLocation = await locateCounters(config.environment, processes, roles, lockedFolder, log, shutdown);
  const ahead = processes.clockAheadMs ?? clockAheadMs(systemClock);
  const stores = await openStores(config, roles, counterLocation, isFirst, log, shutdown);
  const shared = { config: running, ...stores, clock: systemClock, log, gauges: [], shutdown };
  const time = { clockAheadMs: ahead, recordTime: recordTime(stores.database.kind, ahead) };
  const modules = await openModules(shared, { roles, forwards, isFirst, counterLocation, ...time }, beforeBackends);
  const admission = openAdmission(modules, modules);
  let restWebhooks = (): void => {};
  if (roles.includes('worker')) {
    startWorker(modules);
    sendMail(modules);
    restWebhooks = await deliverWebhooks(modules);
  }
  const pool: PoolHolder = { current: undefined, hasStarted: false };
  const isGateway = roles.includes('gateway');
  const nodes = processes.isWorker ? new NodeStatuses(undefined) : openNodes(config, modules.database, log);
  shutdown.add('leave the others', () => nodes.stop());
  const view = new ProcessView(modules, pool, nodes, isGateway);
  const admin = processes.isWorker ? undefined : await startAdmin(modules, admission, token, pool, view);
  const gatewayUrl = isGateway ? await startGatewayRole(modules, admission, description, processes, pool) : undefined;
  // During the drain, current attempts finish, but no new attempts start.
  shutdown.add('rest webhooks', async () => restWebhooks());
  pool.hasStarted = true;
  if (gatewayUrl !== undefined) view.publish(gatewayUrl);
  if (token !== undefined) view.startReadingOthers();
  reload.start(gatewayUrl === undefined ? undefined : portOf(gatewayUrl));
  const leaveMemoryToV8 = releaseMemoryWhenIdle();
  shutdown.add('stop watching', async () => {
    leaveMemoryToV8();
    reload.stop();
  });
  const { database, accounts, keyStore } = modules;
  return {
    gatewayUrl,
    adminUrl: admin?.url,
    operatorToken: token,
    members: admin?.members,
    panelUrl: admin?.panelUrl,
    database,
    accounts,
    keyStore,
    state: () => view.ownStatus(),
    metrics: () => ownMetrics(modules, admission),
  };
}

async function tokenOf(dataDir: string, given: string | undefined): Promise<string> {
  try {
    return await operatorToken(dataDir, given);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `The operator token cannot be kept in ${dataDir} (${reason}). Set TRAILGATE_ADMIN_TOKEN, or ` +
        'TRAILGATE_DATA_DIR to a folder that can be written.',
    );
  }
}

function tightenFiles(dataDir: string, log: Log): void {
  const files = tightenDataFiles(dataDir);
  if (files.length === 0) return;
  log.logger.warn({ event: 'data_files_tightened', files }, 'other users could read data files; now they cannot');
}

function startWorker(modules: Modules): void {
  const { config, database, clock, log, shutdown } = modules;
  const topAccounts = new TopAccounts(database.db, database.kind, () => config.current.file, clock, log.logger);
  const stopHousekeeping = startHousekeeping(tasksOf(modules), log.logger);
  topAccounts.start();
  shutdown.add('stop worker', async () => {
    await Promise.all([topAccounts.stop(), stopHousekeeping()]);
  });
}
