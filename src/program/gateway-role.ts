/**
 * Runs the gateway role. Opens the public listener in this process or in worker processes, and drains requests at
 * shutdown.
 */
import type { Server } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { ApiDescription } from '../config/api-description.js';
import type { Config, GatewayFile } from '../config/model/schema.js';
import type { RunningConfig } from '../config/running-config.js';
import { FileDescriptors } from '../platform/resources/file-descriptors.js';
import { startOAuthServer, type GatewayParts } from '../authorization/oauth-listener.js';
import { HEAD_TIMEOUT_MS } from '../gateway/request/connection-timeouts.js';
import { Connections } from '../gateway/listener/connections.js';
import { ExposedKeys } from '../accounts/exposed-keys.js';
import { Cors } from '../gateway/request/cors.js';
import { EntranceRules } from '../gateway/request/entrance-rules.js';
import { RequestLines } from '../gateway/request/request-lines.js';
import { Tracer } from '../gateway/request/tracing.js';
import type { Draining } from '../gateway/listener/draining.js';
import { createGatewayApplication } from '../gateway/listener/gateway.application.js';
import { LiveStreams } from '../gateway/listener/live-streams.js';
import { logListener, listenQuietly, releasePort } from '../platform/listen.js';
import type { Log } from '../platform/log.js';
import type { Admission } from '../admission/open.js';
import type { Modules } from './modules.js';
import type { Forwarder } from '../proxy/calls/forwarder.js';
import { ProxyStatus } from '../proxy/calls/proxy-status.js';
import { PlanSeries } from '../quota/plan-series.js';
import { errorCatalogueText } from '../reference/error-catalogue.js';
import { PublicKeysModule } from '../reference/webhooks/public-keys.controller.js';
import { PublicKeys } from '../reference/webhooks/public-keys.js';
import { ReferenceModule, referenceDocuments } from '../reference/reference.module.js';
import { openMcp } from './open-mcp.js';
import type { Processes } from './roles.js';
import { onSignal } from '../platform/signals.js';
import type { Shutdown } from '../platform/shutdown.js';
import { SpanExporter } from '../platform/span-exporter.js';
import { StartError } from '../platform/start-error.js';
import { WorkerPool } from './workers/worker-pool.js';

/** Time for a worker process to exit after its drain. */
const WORKER_STOP_MARGIN_MS = 10_000;
const PHASE_MARGIN_MS = 1_000;
const IDLE_SWEEP_INTERVAL_MS = 100;
/** Divisor for the OAuth listener, which may use a quarter of the file descriptors for clients. */
const OTHER_LISTENER_DIVISOR = 4;
/** Time to send error responses to the requests that are aborted at the end of the drain. */
const ABORT_RESPONSE_MS = 250;

/** PoolHolder gives the admin listener access to the worker pool, which starts after the admin listener. */
export interface PoolHolder {
  current: WorkerPool | undefined;
  /** Whether all listeners of the program accept requests. */
  hasStarted: boolean;
}

/**
 * Starts the gateway in this process, or in worker processes.
 * @returns the URL of the public listener. Rejects with `StartError`.
 */
export async function startGatewayRole(
  modules: Modules,
  admission: Admission,
  description: readonly ApiDescription[] | undefined,
  { workers, workerArgs, isWorker }: Processes,
  holder: PoolHolder,
): Promise<string> {
  const { log, shutdown } = modules;
  if (isWorker) return startGateway(modules, admission, description, true);
  if (workers === 1) {
    const url = await startGateway(modules, admission, description, false);
    logListener('gateway', url, log);
    return url;
  }
  await releasePort('gateway');
  await releasePort('oauth');
  // The pool and the signal handler are set before the workers start, because signals may arrive meanwhile.
  const pool = new WorkerPool(workers, log.logger, (message) => modules.workSignal.receiveMessage(message));
  holder.current = pool;
  onSignal('SIGHUP', () => pool.signal('SIGHUP'));
  const timeoutMs = (): number => {
    const { delay = 0, drain } = modules.config.current.file.gateway.shutdown;
    return delay + drain + WORKER_STOP_MARGIN_MS;
  };
  shutdown.add(
    'stop workers',
    () => pool.stop(timeoutMs()),
    () => timeoutMs() + PHASE_MARGIN_MS,
  );
  try {
    const { url = '', isCountingProcess } = modules.counterLocation;
    const counterArgs = isCountingProcess ? ['--counters', url, `--clock-ahead=${modules.clockAheadMs}`] : [];
    const gatewayUrl = await pool.start([...workerArgs, ...counterArgs]);
    logListener('gateway', gatewayUrl, log);
    return gatewayUrl;
  } catch (error) {
    throw new StartError(error instanceof Error ? error.message : String(error));
  }
}

async function startGateway(
  modules: Modules,
  opened: Admission,
  description: readonly ApiDescription[] | undefined,
  isWorker: boolean,
): Promise<string> {
  const { config, keys, requestLogs, usage, forwarder, webhooks, clock, log, shutdown } = modules;
  const { publicUrl, ...admission } = opened;
  if (forwarder === undefined || description === undefined)
    throw new Error('a process without backends cannot be a gateway');
  const { file } = config.current;
  const { routes } = admission;
  const descriptors = await openDescriptors(config.current, log);
  const cors = new Cors(file.gateway.cors, routes);
  const exposed = new ExposedKeys(keys.authenticator, modules.keyStore, admission.failedAttempts, log.logger);
  const entranceRules = new EntranceRules(file, (request) => exposed.revoke(request), log.logger);
  const requestLines = new RequestLines(file.gateway.log);
  const tracer = openTracer(file.tracing, log, shutdown);
  const proxyStatus = new ProxyStatus();
  proxyStatus.setEnabled(file.gateway.proxyStatus);
  const planSeries = new PlanSeries(file.plans);
  const documents = referenceDocuments(config.current, description, { publicUrl: () => publicUrl.get() });
  const mcp = openMcp(modules, opened, {
    openApis: () => documents.apis.map((_, at) => documents.openApi(at)),
    errors: errorCatalogueText,
  });
  const deps = {
    config: config.current,
    clock,
    errorPages: publicUrl.errorPages,
    ...admission,
    cors,
    entranceRules,
    requestLogs,
    requestLines,
    tracer,
    usage,
    forwarder,
    proxyStatus,
    draining: { hasBegun: false },
    connections: new Connections(file.gateway, file.services, descriptors, log.logger),
    mountEndpoint: mcp.mountEndpoint,
  };
  config.onChange(({ config: changed, description: changedDescription }) => {
    return () => {
      cors.applyConfig(changed.file.gateway.cors);
      entranceRules.applyConfig(changed.file);
      requestLines.applyConfig(changed.file.gateway.log);
      proxyStatus.setEnabled(changed.file.gateway.proxyStatus);
      if (changedDescription !== undefined) documents.use(changed, changedDescription);
      planSeries.beginPlans(changed.file.plans);
      deps.connections.applyConfig(changed.file.gateway, changed.file.services);
    };
  });
  const gateway = await createGatewayApplication(deps, log, [
    ReferenceModule.of(documents, routes),
    PublicKeysModule.of(new PublicKeys(webhooks.secrets, clock)),
  ]);
  const live = new LiveStreams(() => forwarder.listCalls(), keys.authenticator);
  live.followChanges(keys.bus);
  // The phases run in reverse order: readiness off, end MCP streams, drain gateway, release streams, abort requests.
  shutdown.add('abort remaining requests', () => abortRemaining(forwarder, deps.connections));
  shutdown.add('release streams', async () => live.stop());
  // `drain` and `delay` are functions, because the shutdown must use the values that are configured when it begins.
  const drain = (): number => config.current.file.gateway.shutdown.drain;
  const delay = (): number => config.current.file.gateway.shutdown.delay ?? 0;
  shutdown.add('drain gateway', () => drainGateway(gateway, forwarder, deps.connections), drain);
  shutdown.add('end MCP streams', async () => mcp.endStreams());
  shutdown.add(
    'readiness off',
    () => announceEnd(deps.draining, delay()),
    () => delay() + PHASE_MARGIN_MS,
  );
  const scheme = file.gateway.tls === undefined ? 'http' : 'https';
  // On Linux, each worker opens the port itself. On other systems, node:cluster distributes the connections.
  const shared = isWorker && process.platform === 'linux';
  const { url, port } = await listenQuietly(gateway, 'gateway', file.gateway, scheme, shared);
  publicUrl.setPort(port);
  const gatewayParts = {
    gateway: gateway.getHttpServer() as Server,
    isShared: shared,
    drainMs: drain,
    watch: watchOtherListener(config, descriptors),
  };
  await startOAuthServer(modules, gatewayParts, clock, log, shutdown);
  return url;
}

/**
 * Starts the export of trace spans. The shutdown exports the last spans.
 * @returns undefined if tracing is not configured
 */
function openTracer(tracing: GatewayFile['tracing'], log: Log, shutdown: Shutdown): Tracer | undefined {
  if (tracing === undefined) return undefined;
  const exporter = new SpanExporter(tracing, log.logger);
  shutdown.add('export spans', () => exporter.stop());
  return new Tracer(tracing.share, tracing.followCallers, exporter);
}

/**
 * Reads the process's limit of file descriptors. Logs a warning if `gateway.limits.connections` exceeds the number that
 * clients may use.
 */
async function openDescriptors({ file }: Config, log: Log): Promise<FileDescriptors> {
  const descriptors = new FileDescriptors();
  await descriptors.refresh();
  const { connections } = file.gateway.limits;
  const { limit, forClients } = descriptors;
  if (connections > forClients) {
    log.logger.warn(
      { event: 'few_file_descriptors', limit, for_clients: forClients, connections },
      'The system allows fewer file descriptors than gateway.limits.connections needs: raise its limit (ulimit ' +
        '-n), or lower the setting',
    );
  }
  return descriptors;
}

/**
 * Returns a function that applies the gateway's connection limits to another listener of this process. The other
 * listener may use a quarter of the file descriptors for clients, and has no limit on connections per address.
 */
function watchOtherListener(config: RunningConfig, descriptors: FileDescriptors): GatewayParts['watch'] {
  return (server, mostConnections) => {
    const withLimits = ({ gateway }: GatewayFile): GatewayFile['gateway'] => {
      const connections = Math.min(mostConnections, Math.floor(descriptors.forClients / OTHER_LISTENER_DIVISOR));
      return { ...gateway, limits: { ...gateway.limits, connections, connectionsPerAddress: 0 } };
    };
    const { file } = config.current;
    const limitedConnections = new Connections(withLimits(file), file.services, descriptors);
    config.onChange(
      ({ config: changed }) =>
        () =>
          limitedConnections.applyConfig(withLimits(changed.file), changed.file.services),
    );
    return limitedConnections.attachTo(server);
  };
}

/**
 * Waits until load balancers have noticed that `/readyz` returns 503, as it does from the beginning of the shutdown.
 * The gateway still serves new requests. Each response asks the client to close its connection, so that few connections
 * are open when the listener closes.
 */
async function announceEnd(draining: Draining, delayMs: number): Promise<void> {
  draining.hasBegun = true;
  if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
}

/**
 * Closes the listener, and waits for the last response. Ends WebSockets. Closes idle connections repeatedly, because
 * Node closes only those that are idle when `close` is called. Node also stops enforcing the header timeout, so the
 * timer `heads` enforces it.
 */
async function drainGateway(
  gateway: NestFastifyApplication,
  forwarder: Forwarder,
  connections: Connections,
): Promise<void> {
  forwarder.endWebSockets();
  const server = gateway.getHttpServer();
  const endIdle = (): void => {
    if (!connections.isWriting) server.closeIdleConnections();
    connections.endIdlePlain();
  };
  const timer = setInterval(endIdle, IDLE_SWEEP_INTERVAL_MS);
  const heads = setTimeout(() => connections.endWithoutRequest(), HEAD_TIMEOUT_MS);
  const closed = gateway.close();
  endIdle();
  try {
    await closed;
  } finally {
    clearInterval(timer);
    clearTimeout(heads);
  }
}

/**
 * Ends the requests that are left after the drain. Requests without a response get an error and use no quota. Streams
 * are aborted. Runs before the last write of usage, so that usage does not record these requests as unfinished.
 */
async function abortRemaining(forwarder: Forwarder, connections: Connections): Promise<void> {
  await forwarder.close(0);
  await connections.endAll(ABORT_RESPONSE_MS);
}
