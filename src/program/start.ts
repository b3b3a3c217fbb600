/**
 * `trailgate start`: opens the stores, puts the roles together, listens; and takes it all down again in named phases.
 */
import { fileURLToPath } from 'node:url';
import { readPanelFiles } from '../admin/panel/panel-files.js';
import type { AdminApiDependencies } from '../admin/request/admin-dependencies.js';
import { EventIntake } from '../webhooks/intake/intake.js';
import { eventsTokensOf } from '../config/model/service-schema.js';
import { Explainer } from '../admin/explain/explainer.js';
import { operatorToken } from '../admin/access/operator-token.js';
import { systemClock } from '../platform/clock.js';
import { RunningConfig, withoutDocuments } from '../config/running-config.js';
import { adminUrlOf } from '../config/model/admin-url.js';
import type { LoadedConfig } from '../config/model/loaded-config.js';
import { configSummary } from '../config/summary.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { tightenDataFiles } from '../stores/database/data-folder.js';
import { openAdminListeners } from './admin-listeners.js';
import { deliverWebhooks } from './deliver-webhooks.js';
import { startGatewayRole, type PoolHolder } from './gateway-role.js';
import { letEventLoopGoFirst } from './machine/helper-threads.js';
import { giveMemoryBackWhenIdle, leaveRoomToGrow } from './machine/idle-memory.js';
import type { AccountStore } from '../accounts/accounts.js';
import type { ApiKeyStore } from '../accounts/api-key-store.js';
import { AuditLog } from '../records/audit-log.js';
import { ChangeClaims } from '../idempotency/change-claims.js';
import { portOf } from '../platform/listen.js';
import type { Log } from '../platform/log.js';
import type { Members } from '../members/sign-in/open-members.js';
import { openOAuth } from '../authorization/clients/open-oauth.js';
import { METRICS } from '../platform/metrics.js';
import { metricsText } from '../platform/metrics-text.js';
import { NodeStatements } from '../nodes/node-statements.js';
import { openAdmission, type Admission } from './open-admission.js';
import { openDomain, type Domain, type Stores } from './open-domain.js';
import { openMembersOf } from './open-members.js';
import { claimPorts } from './claim-ports.js';
import { startHousekeeping, tasksOf } from './housekeeping.js';
import { lockData } from './lock-data.js';
import { placeCounters } from './place-counters.js';
import { openNodes, ProcessView } from './process-view.js';
import { DeprecatedCalls } from '../admission/deprecated-calls.js';
import { TopAccounts } from '../quota/usage/top-accounts.js';
import { RequestLogReader } from '../request-logs/request-log-reader.js';
import { RequestLogs } from '../request-logs/request-logs.js';
import { describeApi } from '../reference/describe-api.js';
import { Reload } from './reload/reload.js';
import { ONE_PROCESS, type Processes, type Role } from './roles.js';
import { sendMail } from './send-mail.js';
import type { Shutdown } from './shutdown.js';
import { StartError } from '../platform/start-error.js';
import { VERSION } from '../platform/version.js';
import type { WorkerState } from './workers/messages.js';

/** The program while it runs. */
export interface Running {
  readonly gatewayUrl: string | undefined;
  /** Where the admin listener is on this machine; undefined where there is none. */
  readonly adminUrl: string | undefined;
  readonly operatorToken: string | undefined;
  /** What signs people in; only with the admin role. */
  readonly members: Members | undefined;
  /** Where people reach the panel; undefined in a worker. */
  readonly panelUrl: string | undefined;
  readonly database: DatabaseHandle;
  readonly accounts: AccountStore;
  readonly keyStore: ApiKeyStore;
  /** How this process sees what it stands on. */
  state(): WorkerState;
  /** The metrics of this process, without its workers. */
  metricsText(): Promise<string>;
}

/** The admin panel, which the build puts beside the program. */
const PANEL_FOLDER = fileURLToPath(new URL('../panel', import.meta.url));

/**
 * Starts the roles. Rejects with `StartError`, or an error whose message is ready to be shown, when something that is
 * needed is not there, and when the shutdown begins meanwhile; whatever was opened until then is closed again.
 * @param beforeBackends called when the stores are open, before a backend is asked and before anything listens.
 */
export async function start(
  config: LoadedConfig,
  roles: readonly Role[],
  log: Log,
  shutdown: Shutdown,
  processes: Processes = ONE_PROCESS,
  beforeBackends?: (stores: Stores) => Promise<void>,
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
  beforeBackends: ((stores: Stores) => Promise<void>) | undefined,
): Promise<Running> {
  METRICS.buildInfo.series(VERSION).set(1);
  log.logger.info({ event: 'starting', version: VERSION, roles, ...configSummary(config) }, 'Trailgate starts');
  // With workers, each of them forwards, and this process does not.
  const forwards = roles.includes('gateway') && (processes.isWorker || processes.workers === 1);
  leaveRoomToGrow();
  if (forwards) letEventLoopGoFirst();
  const running = new RunningConfig(withoutDocuments(config));
  const description = forwards ? describeApi(config) : undefined;
  const reload = new Reload(running, forwards, systemClock, log.logger);
  const isFirst = !processes.isWorker;
  const lockedFolder = isFirst ? await lockData(config, log, shutdown) : undefined;
  // Whatever can stop a start comes before the database is opened, which migrates it.
  if (isFirst) await claimPorts(config.file, roles, processes.workers);
  const { dataDir, adminToken } = config.environment;
  if (isFirst) tightenFiles(dataDir, log);
  const token = roles.includes('admin') ? await tokenOf(dataDir, adminToken) : undefined;
  const counterPlace = await placeCounters(config.environment, processes, roles, lockedFolder, log, shutdown);
  const { clockAheadMs } = processes;
  const place = { running, roles, forwards, isFirst, counterPlace, clockAheadMs };
  const domain = await openDomain(place, log, shutdown, beforeBackends);
  const admission = openAdmission(domain, log);
  let restWebhooks = (): void => {};
  if (roles.includes('worker')) {
    startWorker(domain, log, shutdown);
    sendMail(domain, log, shutdown);
    restWebhooks = await deliverWebhooks(domain, log, shutdown);
  }
  const pool: PoolHolder = { current: undefined, hasStarted: false };
  const isGateway = roles.includes('gateway');
  const nodes = processes.isWorker ? new NodeStatements(undefined) : openNodes(config, domain.database, log);
  shutdown.add('leave the others', () => nodes.stop());
  const view = new ProcessView(domain, pool, nodes, isGateway, log, shutdown);
  const admin = processes.isWorker ? undefined : await startAdmin(domain, admission, token, pool, view, log, shutdown);
  const gatewayUrl = isGateway
    ? await startGatewayRole(domain, admission, description, processes, pool, log, shutdown)
    : undefined;
  // The drain takes its time: attempts that are under way end meanwhile, and none begins.
  shutdown.add('rest webhooks', async () => restWebhooks());
  pool.hasStarted = true;
  if (gatewayUrl !== undefined) view.publish(gatewayUrl);
  if (token !== undefined) view.follow();
  reload.start(gatewayUrl === undefined ? undefined : portOf(gatewayUrl));
  const leaveMemoryToV8 = giveMemoryBackWhenIdle();
  shutdown.add('stop watching', async () => {
    leaveMemoryToV8();
    reload.stop();
  });
  const { database, accounts, keyStore } = domain;
  return {
    gatewayUrl,
    adminUrl: admin?.url,
    operatorToken: token,
    members: admin?.members,
    panelUrl: admin?.panelUrl,
    database,
    accounts,
    keyStore,
    state: () => view.own(),
    metricsText: () => ownMetrics(domain, admission, log),
  };
}

function ownMetrics({ gauges }: Domain, { failedAttempts }: Admission, log: Log): Promise<string> {
  return metricsText([log, ...gauges, failedAttempts]);
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

function startWorker(domain: Domain, log: Log, shutdown: Shutdown): void {
  const { config, database } = domain;
  const topAccounts = new TopAccounts(database.db, database.kind, () => config.current.file, systemClock, log.logger);
  const stopHousekeeping = startHousekeeping(tasksOf(domain), log.logger);
  topAccounts.start();
  shutdown.add('stop worker', async () => {
    await Promise.all([topAccounts.stop(), stopHousekeeping()]);
  });
}

/** The admin listener, and what the program does with what stands behind it. */
interface RunningAdmin {
  /** Undefined where there is none: health has a listener of its own. */
  readonly url: string | undefined;
  readonly panelUrl: string;
  readonly members: Members | undefined;
}

/** Without the admin role there are health and metrics alone; every process has those. */
async function startAdmin(
  domain: Domain,
  admission: Admission,
  token: string | undefined,
  pool: PoolHolder,
  view: ProcessView,
  log: Log,
  shutdown: Shutdown,
): Promise<RunningAdmin> {
  const { config, database, databaseHealth, quotas, keys, catalogue, accounts, quotaAdjustments } = domain;
  const reader = new RequestLogReader(database.db, () => systemClock.now());
  const requestLogs = new RequestLogs(reader, () => config.current.file.usage.requestLogRetention, systemClock);
  const explainer = new Explainer(admission.steps, keys.build, () => config.current);
  const members = token === undefined ? undefined : openMembersOf(domain, token, log);
  const api: AdminApiDependencies | null =
    token === undefined || members === undefined
      ? null
      : {
          operatorToken: token,
          accounts,
          keys: domain.keyStore,
          quotaAdjustments,
          changeClaims: new ChangeClaims(database.db, domain.recordTime),
          auditLog: new AuditLog(database.db),
          events: domain.events,
          intake: new EventIntake(database.db, systemClock, domain.workSignal, () => config.current.eventTypes ?? []),
          serviceTokens: () => eventsTokensOf(config.current.file.services),
          catalogue,
          explainer,
          usageReader: domain.usage,
          deprecatedCalls: new DeprecatedCalls(database.db, () => config.current, systemClock),
          requestLogs,
          throttlerStorage: quotas.limiter,
          panel: readPanelFiles(PANEL_FOLDER),
          members,
          webhooks: domain.webhooks,
          authorizationRequests: openOAuth(domain, systemClock).requests,
        };
  const parts = {
    api,
    errorPages: admission.publicUrl.errorPages,
    ...view.shown,
    metricsText: async () => {
      const own = await ownMetrics(domain, admission, log);
      return pool.current === undefined ? own : pool.current.metricsText(own);
    },
    clock: systemClock,
    log: log.logger,
  };
  databaseHealth.start();
  shutdown.add('stop asking the database', async () => databaseHealth.stop());
  const url = await openAdminListeners(parts, config, log, shutdown);
  const port = url === undefined ? undefined : portOf(url);
  return { url, panelUrl: adminUrlOf(config.current.file.admin, port), members };
}
