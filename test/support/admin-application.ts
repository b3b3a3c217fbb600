/**
 * Runs the admin application in this process, with the program's modules, a real database, a real port and a test
 * clock.
 */
import type { AddressInfo } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { pino } from 'pino';
import type { z } from 'zod';
import { createAdminApplication } from '../../src/admin/admin.application.js';
import type { PanelFiles } from '../../src/admin/panel/panel-files.js';
import type { AdminDependencies, Readiness } from '../../src/admin/request/admin-dependencies.js';
import { openAdmission } from '../../src/admission/open.js';
import type { admin as adminSchema } from '../../src/config/model/admin-schema.js';
import { adminUrlOf } from '../../src/config/model/admin-url.js';
import { readEnvironment } from '../../src/config/model/environment.js';
import { configSchema, type Config, type EventType } from '../../src/config/model/schema.js';
import type { webhooks as webhooksSchema } from '../../src/config/model/webhooks-schema.js';
import { RunningConfig } from '../../src/config/running-config.js';
import type { ResolveName } from '../../src/http/outbound/name-resolver.js';
import { bigintLiteral } from '../../src/idempotency/database-records.js';
import type { Members } from '../../src/members/sign-in/open-members.js';
import type { KnownNodeStatus } from '../../src/nodes/node-status.js';
import type { NodeTarget } from '../../src/nodes/node-targets.js';
import { collectMetrics } from '../../src/platform/collect-metrics.js';
import { Shutdown } from '../../src/platform/shutdown.js';
import { openAdminApi } from '../../src/program/open-admin.js';
import { openModules, type Modules } from '../../src/program/modules.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { SecretBox } from '../../src/stores/secrets/secret-box.js';
import { AdminClient } from './admin.js';
import { TEST_CONFIG, TestClock } from './stores.js';

export const ADMIN_TOKEN = 'operator-token-of-the-tests-0123456789';

/** A running admin application. The test must close it. */
export interface RunningAdmin {
  readonly url: string;
  readonly port: number;
  readonly admin: AdminClient;
  readonly application: NestFastifyApplication;
  readonly modules: Modules;
  /** The clock that all modules use. */
  readonly clock: TestClock;
  readonly members: Members;
  /** All log lines so far. */
  readonly log: readonly string[];
  close(): Promise<void>;
}

/** AdminOptions overrides the defaults of the test application. */
export interface AdminOptions {
  /** If false, the application has no API, as in a process without the admin role. */
  readonly api?: boolean;
  readonly readiness?: () => Readiness;
  readonly targets?: readonly NodeTarget[];
  readonly gateways?: readonly KnownNodeStatus[];
  readonly panel?: PanelFiles;
  /** Settings under `admin` in gateway.yaml. */
  readonly settings?: z.input<typeof adminSchema>;
  /** Settings under `webhooks` in gateway.yaml. */
  readonly webhooks?: z.input<typeof webhooksSchema>;
  /** Encrypts stored secrets. If null, no encryption key is configured; if undefined, a fixed test key is used. */
  readonly secretBox?: SecretBox | null;
  /** Names of event types without schemas. Ignored if `eventTypes` is given. */
  readonly events?: readonly string[];
  /** Event types with their schemas. */
  readonly eventTypes?: readonly EventType[];
  /** The `eventsToken` of each service, by service name. */
  readonly eventsTokens?: ReadonlyMap<string, string>;
  /** Resolves the host names of webhook endpoints. Defaults to the real DNS. */
  readonly resolve?: ResolveName;
}

/** Starts the admin application on a free port of 127.0.0.1. The caller must close it. */
export async function startAdmin(database: DatabaseHandle, options: AdminOptions = {}): Promise<RunningAdmin> {
  const log: string[] = [];
  const logger = pino({ level: 'debug' }, { write: (line: string) => void log.push(line) });
  const lines = {
    logger,
    write: (line: string) => void log.push(line),
    flush: async () => {},
    lost: undefined,
    readGauges: () => {},
  };
  const shutdown = new Shutdown(lines);
  const clock = new TestClock();
  const config = new RunningConfig(configOf(options));
  const secretBox = options.secretBox === undefined ? new SecretBox(Buffer.alloc(32, 2)) : options.secretBox;
  const modules = await openModules(
    { config, database, secretBox, clock, log: lines, gauges: [], shutdown },
    {
      roles: ['admin', 'gateway'],
      forwards: false,
      isFirst: true,
      counterLocation: { url: undefined, isCountingProcess: true },
      clockAheadMs: 0,
      recordTime: () => bigintLiteral(clock.now()),
      ...(options.resolve === undefined ? {} : { sender: { resolve: options.resolve } }),
    },
  );
  const admission = openAdmission(modules, modules);
  const api = openAdminApi(modules, admission, ADMIN_TOKEN, options.panel ?? null);
  const settings = () => config.current.file.admin;
  let boundPort = 0;
  const dependencies: AdminDependencies = {
    url: () => adminUrlOf(settings(), boundPort),
    errorPages: admission.publicUrl.errorPages,
    settings,
    configPath: config.current.path,
    api: options.api === false ? null : api,
    readiness: options.readiness ?? (() => ({ ready: true, checks: { database: { status: 'ok' } } })),
    targets: () => options.targets ?? [],
    gateways: () => options.gateways ?? [],
    stores: { database: database.kind, counters: 'process' },
    metrics: () => collectMetrics([]),
    clock,
    log: logger,
  };
  const application = await createAdminApplication(dependencies);
  await application.listen(0, '127.0.0.1');
  const { port } = application.getHttpServer().address() as AddressInfo;
  boundPort = port;
  const url = `http://127.0.0.1:${port}`;
  const close = async (): Promise<void> => {
    await application.close();
    await shutdown.run();
  };
  const admin = new AdminClient(url, ADMIN_TOKEN);
  return { url, port, admin, application, modules, clock, members: api.members, log, close };
}

/** Returns the configuration: the test plans and operations, and an MCP authorization server. */
function configOf({ settings, webhooks, events, eventTypes, eventsTokens }: AdminOptions): Config {
  const { file, operations, publicUrl } = TEST_CONFIG;
  const services = Object.fromEntries(
    [...(eventsTokens ?? [])].map(([name, token]) => [name, { targets: ['http://127.0.0.1:9'], eventsToken: token }]),
  );
  const plain = { schema: null, description: null, example: null };
  return {
    file: configSchema.parse({
      api: { publicUrl },
      admin: { port: 0, ...settings },
      services,
      plans: file.plans,
      webhooks,
      mcp: { oauth: { publicUrl: 'https://mcp.example.com' } },
    }),
    environment: readEnvironment({}),
    path: `${process.cwd()}/gateway.yaml`,
    operations: operations as unknown as Config['operations'],
    unpublished: [],
    eventTypes: eventTypes ?? (events ?? []).map((name) => ({ name, ...plain })),
    publicUrl,
  };
}
