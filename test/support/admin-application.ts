/** The admin application in this process, on a real database and a real port, with the parts that the program gives it. */
import type { AddressInfo } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { pino } from 'pino';
import type { z } from 'zod';
import { createAdminApplication } from '../../src/admin/admin.application.js';
import type { PanelFiles } from '../../src/admin/panel/panel-files.js';
import type { AdminDependencies, Readiness } from '../../src/admin/request/admin-dependencies.js';
import { Explainer } from '../../src/admin/explain/explainer.js';
import { admin as adminSchema } from '../../src/config/model/admin-schema.js';
import { webhooks as webhooksSchema } from '../../src/config/model/webhooks-schema.js';
import { adminUrlOf } from '../../src/config/model/admin-url.js';
import type { Config, EventType } from '../../src/config/model/schema.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { EventIntake } from '../../src/webhooks/intake/intake.js';
import { EventOutbox } from '../../src/outbox/outbox.js';
import { openWebhooks } from '../../src/webhooks/management/open-webhooks.js';
import { WorkSignal } from '../../src/outbox/work-signal.js';
import { WebhookSender } from '../../src/webhooks/sending/attempt.js';
import { outboundRules } from '../../src/http/outbound/destination.js';
import { GuardedConnections } from '../../src/http/outbound/guarded-agent.js';
import { nameResolver, type ResolveName } from '../../src/http/outbound/name-resolver.js';
import { ChangeClaims } from '../../src/idempotency/change-claims.js';
import { instant } from '../../src/idempotency/database-records.js';
import { QuotaAdjustmentStore } from '../../src/accounts/quota-adjustments.js';
import { metricsText } from '../../src/platform/metrics-text.js';
import type { HeardStatement } from '../../src/nodes/node-statement.js';
import type { NodeTarget } from '../../src/nodes/node-targets.js';
import { MonthLedger } from '../../src/quota/usage/month-ledger.js';
import { ProcessCounters } from '../../src/quota/process/process-counters.js';
import { LimiterSink } from '../../src/quota/limiter-sink.js';
import { RequestLogReader } from '../../src/request-logs/request-log-reader.js';
import { RequestLogs } from '../../src/request-logs/request-logs.js';
import { ShadowLimits } from '../../src/quota/shadow-limits.js';
import { Limiter } from '../../src/quota/limiter.js';
import { ProcessThrottleWindows } from '../../src/quota/throttle-windows.js';
import { SecretBox } from '../../src/stores/secrets/secret-box.js';
import { openMembers, type Members } from '../../src/members/sign-in/open-members.js';
import { offeredWaysOf } from '../../src/members/ways.js';
import { UsageReader } from '../../src/quota/usage-reader.js';
import { DeprecatedCalls } from '../../src/admission/deprecated-calls.js';
import { UsageRows } from '../../src/quota/usage/usage-rows.js';
import { ErrorPages } from '../../src/platform/problems/error-pages.js';
import { admissionOn } from './admission.js';
import { AdminClient } from './admin.js';
import { AuthorizationRequests } from '../../src/authorization/clients/authorization-requests.js';
import { ClientKeys } from '../../src/authorization/clients/client-keys.js';
import { OAuthObjects } from '../../src/authorization/clients/oauth-objects.js';
import { storesOn, TEST_CONFIG } from './stores.js';

/** To receivers of webhooks. */
const CONNECT_TIMEOUT_MS = 2_000;
/** How long request logs are kept. */
const LOG_DAYS = 7;

export const ADMIN_TOKEN = 'operator-token-of-the-tests-0123456789';

export interface RunningAdmin {
  readonly url: string;
  readonly port: number;
  readonly admin: AdminClient;
  readonly application: NestFastifyApplication;
  readonly stores: ReturnType<typeof storesOn>;
  readonly members: Members;
  /** Every line of its log, so far. */
  readonly log: readonly string[];
  close(): Promise<void>;
}

/** Starts it on a free port. `api: false` is a process without the admin role. */
export async function startAdmin(
  database: DatabaseHandle,
  options: {
    readonly api?: boolean;
    readonly readiness?: () => Readiness;
    readonly targets?: readonly NodeTarget[];
    readonly gateways?: readonly HeardStatement[];
    readonly panel?: PanelFiles;
    /** What deprecated calls are told by. */
    readonly config?: () => Config;
    /** As under `admin` in gateway.yaml. */
    readonly settings?: z.input<typeof adminSchema>;
    /** As in gateway.yaml. */
    readonly webhooks?: z.input<typeof webhooksSchema>;
    /** Null: there is no key for secrets. */
    readonly secretBox?: SecretBox | null;
    /** By name alone, or with their schemas. */
    readonly events?: readonly string[];
    readonly eventTypes?: readonly EventType[];
    /** By service. */
    readonly eventsTokens?: ReadonlyMap<string, string>;
    readonly workSignal?: WorkSignal;
    /** Of receivers of webhooks. */
    readonly resolve?: ResolveName;
  } = {},
): Promise<RunningAdmin> {
  const log: string[] = [];
  const logger = pino({ level: 'debug' }, { write: (line: string) => void log.push(line) });
  const stores = storesOn(database);
  const { clock } = stores;
  const ledger = new MonthLedger(database.db, clock);
  const shadows = new ShadowLimits(clock, false);
  const sink = new LimiterSink(ledger, shadows, clock);
  const counters = new ProcessCounters(clock, ledger, 'store', undefined, sink);
  const throttles = new ProcessThrottleWindows(clock);
  const limiter = new Limiter(counters, shadows, ledger, throttles, clock, logger);
  const { steps, known } = admissionOn(TEST_CONFIG as unknown as Config, database, limiter, {
    clock,
    bus: stores.bus,
    log: logger,
  });
  const config = options.config ?? (() => TEST_CONFIG as unknown as Config);
  const settings = adminSchema.parse({ port: 0, ...options.settings });
  const sessionLimits = { idleMs: 30 * 60_000, absoluteMs: 12 * 3_600_000 };
  const box = options.secretBox === undefined ? new SecretBox(Buffer.alloc(32, 2)) : options.secretBox;
  const webhookSettings = { webhooks: webhooksSchema.parse(options.webhooks ?? {}) };
  const plain = { schema: null, description: null, example: null };
  const types = options.eventTypes ?? (options.events ?? []).map((name) => ({ name, ...plain }));
  const eventTypes = () => types;
  const signal = options.workSignal ?? new WorkSignal();
  const resolve = options.resolve ?? nameResolver();
  const connections = new GuardedConnections({ resolve, connectTimeoutMs: CONNECT_TIMEOUT_MS });
  const members = openMembers({
    database,
    clock,
    log: logger,
    keys: stores.keys,
    sessionLimits: () => sessionLimits,
    windows: throttles,
    secretBox: box,
    browserKey: Buffer.alloc(32, 1),
    host: () => 'localhost',
    offeredWays: () => offeredWaysOf(settings.signIn),
    hasMail: () => settings.mail !== undefined,
    returnOrigins: () => settings.portal.returnOrigins,
  });
  const objects = new OAuthObjects(database.db, clock);
  const api = {
    operatorToken: ADMIN_TOKEN,
    accounts: stores.accounts,
    keys: stores.keys,
    quotaAdjustments: new QuotaAdjustmentStore({ ...stores, counters: limiter, hasCounters: true }),
    changeClaims: new ChangeClaims(database.db, () => instant(clock.now())),
    auditLog: stores.auditLog,
    events: new EventOutbox(database.db, clock),
    intake: new EventIntake(database.db, clock, signal, eventTypes),
    serviceTokens: () => options.eventsTokens ?? new Map(),
    catalogue: stores.catalogue,
    explainer: new Explainer(steps, known, () => TEST_CONFIG),
    deprecatedCalls: new DeprecatedCalls(database.db, config, clock),
    usageReader: new UsageReader(TEST_CONFIG.file.plans, limiter, new UsageRows(database.db), clock),
    requestLogs: new RequestLogs(new RequestLogReader(database.db, () => clock.now()), () => LOG_DAYS, clock),
    throttlerStorage: limiter,
    panel: options.panel ?? null,
    members,
    authorizationRequests: new AuthorizationRequests({
      objects,
      keys: new ClientKeys({ db: database.db, clock, bus: stores.bus, keys: stores.keys }),
      clock,
      resumeUrl: (id) => `https://mcp.example.com/authorize/${id}`,
      longestMs: () => 90 * 86_400_000,
    }),
    webhooks: openWebhooks({
      database,
      clock,
      secretBox: box,
      signal,
      sender: new WebhookSender({ connections, rules: () => outboundRules(webhookSettings.webhooks), clock }),
      throttles,
      file: () => webhookSettings,
      eventTypes,
    }),
  };
  let boundPort = 0;
  const dependencies: AdminDependencies = {
    url: () => adminUrlOf(settings, boundPort),
    errorPages: new ErrorPages('http://localhost:8080'),
    settings: () => settings,
    configPath: `${process.cwd()}/gateway.yaml`,
    api: options.api === false ? null : api,
    readiness: options.readiness ?? (() => ({ ready: true, checks: { database: { status: 'ok' } } })),
    targets: () => options.targets ?? [],
    gateways: () => options.gateways ?? [],
    stores: { database: database.kind, counters: 'process' },
    metricsText: () => metricsText([]),
    clock,
    log: logger,
  };
  const application = await createAdminApplication(dependencies);
  await application.listen(0, '127.0.0.1');
  const { port } = application.getHttpServer().address() as AddressInfo;
  boundPort = port;
  const url = `http://127.0.0.1:${port}`;
  const admin = new AdminClient(url, ADMIN_TOKEN);
  const close = async (): Promise<void> => {
    connections.close();
    await application.close();
  };
  return { url, port, admin, application, stores, members, log, close };
}
