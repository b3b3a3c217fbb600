/** Opens the admin role: admin API, panel, and the listener for health and metrics. */
import { fileURLToPath } from 'node:url';
import { Explainer } from '../admin/explain/explainer.js';
import type { PanelFiles } from '../admin/panel/panel-files.js';
import { readPanelFiles } from '../admin/panel/panel-files.js';
import type { AdminApiDependencies } from '../admin/request/admin-dependencies.js';
import { DeprecatedCalls } from '../admission/deprecated-calls.js';
import type { Admission } from '../admission/open.js';
import { openOAuth } from '../authorization/clients/open-oauth.js';
import { adminUrlOf } from '../config/model/admin-url.js';
import { eventsTokensOf } from '../config/model/service-schema.js';
import { ChangeClaims } from '../idempotency/change-claims.js';
import { openMembers, type Members } from '../members/sign-in/open-members.js';
import { portOf } from '../platform/listen.js';
import { collectMetrics } from '../platform/collect-metrics.js';
import type { Family } from '../platform/metrics/family.js';
import { AuditLog } from '../records/audit-log.js';
import { RequestLogReader } from '../request-logs/request-log-reader.js';
import { RequestLogs } from '../request-logs/request-logs.js';
import { Exporter } from '../transfer/exporter.js';
import { Importer } from '../transfer/importer.js';
import { EventIntake } from '../webhooks/intake/intake.js';
import { WebhookSecrets } from '../webhooks/signing/secret-store.js';
import { openAdminListeners } from './admin-listeners.js';
import type { PoolHolder } from './gateway-role.js';
import type { ProcessView } from './process-view.js';
import type { Modules } from './modules.js';

/** Folder of the built admin panel. */
const PANEL_FOLDER = fileURLToPath(new URL('../panel', import.meta.url));

/** RunningAdmin is the started admin listener. */
export interface RunningAdmin {
  /** Undefined if this process has only a health listener. */
  readonly url: string | undefined;
  readonly panelUrl: string;
  readonly members: Members | undefined;
}

/**
 * Starts the listeners. A process without the admin role serves only health and metrics. Rejects with `StartError`.
 * @param token operator token; undefined without the admin role
 */
export async function startAdmin(
  modules: Modules,
  admission: Admission,
  token: string | undefined,
  pool: PoolHolder,
  view: ProcessView,
): Promise<RunningAdmin> {
  const { config, databaseHealth, clock, log, shutdown } = modules;
  const api = token === undefined ? null : openAdminApi(modules, admission, token, readPanelFiles(PANEL_FOLDER));
  const parts = {
    api,
    errorPages: admission.publicUrl.errorPages,
    ...view.shown,
    metrics: async () => {
      const own = await ownMetrics(modules, admission);
      return pool.current === undefined ? own : pool.current.metrics(own);
    },
    clock,
    log: log.logger,
  };
  databaseHealth.start();
  shutdown.add('stop asking the database', async () => databaseHealth.stop());
  const url = await openAdminListeners(parts, config, log, shutdown);
  const port = url === undefined ? undefined : portOf(url);
  return { url, panelUrl: adminUrlOf(config.current.file.admin, port), members: api?.members };
}

/** Creates the dependencies of the admin API. @param panel null without the panel. */
export function openAdminApi(
  modules: Modules,
  admission: Admission,
  operatorToken: string,
  panel: PanelFiles | null,
): AdminApiDependencies {
  const { config, database, clock, keys, keyStore, quotas, workSignal, recordTime } = modules;
  const reader = new RequestLogReader(database.db, () => clock.now());
  return {
    ...modules,
    operatorToken,
    panel,
    keys: keyStore,
    importer: new Importer({
      ...modules,
      bus: keys.bus,
      counters: modules.hasCounters ? quotas.limiter : undefined,
      webhookSecrets: new WebhookSecrets(database.db, modules.secretBox),
    }),
    exporter: new Exporter(database, clock),
    changeClaims: new ChangeClaims(database.db, recordTime),
    auditLog: new AuditLog(database.db),
    intake: new EventIntake(database.db, clock, workSignal, () => config.current.eventTypes ?? []),
    serviceTokens: () => eventsTokensOf(config.current.file.services),
    explainer: new Explainer(admission, keys.build, () => config.current),
    usageReader: modules.usage,
    deprecatedCalls: new DeprecatedCalls(database.db, () => config.current, clock),
    requestLogs: new RequestLogs(reader, () => config.current.file.usage.requestLogRetention, clock),
    throttlerStorage: quotas.limiter,
    members: openMembers(modules, { keys: keyStore, windows: quotas.throttleWindows, operatorToken }),
    authorizationRequests: openOAuth(modules, clock).requests,
  };
}

/** Returns the metrics of this process, without its workers. */
export function ownMetrics({ gauges, log }: Modules, { failedAttempts }: Admission): Promise<Family[]> {
  return collectMetrics([log, ...gauges, failedAttempts]);
}
