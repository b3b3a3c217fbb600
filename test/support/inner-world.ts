/** Runs a gateway in this process with all parts of the program, and mounts an endpoint of the test. */
import { openSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { MountEndpoint } from '../../src/admission/mounted/mounted-endpoint.js';
import type { EndpointRequest } from '../../src/admission/mounted/endpoint-request.js';
import type { InnerResponse } from '../../src/admission/mounted/inner-call.js';
import { openAdmission, type Admission } from '../../src/admission/open.js';
import { openModules, type Modules } from '../../src/program/modules.js';
import { openStores } from '../../src/program/open-stores.js';
import { clockAheadMs, recordTime } from '../../src/idempotency/database-records.js';
import { Shutdown } from '../../src/platform/shutdown.js';
import { RunningConfig, withoutDocuments } from '../../src/config/running-config.js';
import { Connections } from '../../src/gateway/listener/connections.js';
import { createGatewayApplication } from '../../src/gateway/listener/gateway.application.js';
import { Cors } from '../../src/gateway/request/cors.js';
import { EntranceRules } from '../../src/gateway/request/entrance-rules.js';
import { RequestLines } from '../../src/gateway/request/request-lines.js';
import { systemClock } from '../../src/platform/clock.js';
import { openLog, type Log } from '../../src/platform/log.js';
import type { ErrorPages } from '../../src/platform/problems/error-pages.js';
import { problemBody } from '../../src/platform/problems/problem-body.js';
import { ProxyStatus } from '../../src/proxy/calls/proxy-status.js';
import type { RequestLogRow } from '../../src/request-logs/request-log-row.js';
import { configOf, type ConfigFiles } from './config-files.js';
import { send } from './http.js';
import { temporaryFolder } from './processes.js';

/** An inner call that the test asks the endpoint to make. */
export interface InnerRequest {
  /** Method and path template of the intended operation, such as `GET /files/{name}`. */
  readonly match: string;
  /** Path and query, including the base path. */
  readonly url: string;
  readonly lines?: string;
  readonly body?: string;
  readonly mostBytes?: number;
  /** Whether the client's connection was reset before its address was read. */
  readonly isReset?: boolean;
}

/** The endpoint's result, parsed. See `InnerResponse`. */
export interface InnerResult {
  readonly status: number;
  readonly lines: string;
  readonly body: string;
  readonly isCut: boolean;
  readonly quotaLines: string;
  readonly problem: Record<string, unknown> | null;
}

/** A running gateway. The test must stop it. */
export interface World {
  readonly url: string;
  readonly modules: Modules;
  /** Creates an account and a key for it. */
  newKey(
    plan: string,
    scopes?: readonly string[],
  ): Promise<{ readonly secret: string; readonly keyId: string; readonly accountId: string }>;
  /** Revokes a key. */
  revoke(keyId: string): Promise<void>;
  /** Returns the request log rows of an account so far. Takes them out of the recorder. */
  written(accountId: string): RequestLogRow[];
  stop(): Promise<void>;
}

export interface InnerWorld extends World {
  inner(secret: string, request: InnerRequest): Promise<InnerResult>;
}

export interface WorldOptions {
  readonly logFile?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const MAX_BYTES = 64 * 1_024;
const MAX_ROWS = 1_000;
const CONTEXT = { actor: 'operator', ip: '127.0.0.1', requestId: 'req_test' } as const;

/** Parts that are opened before the gateway, for the test's endpoint. */
export interface Opened {
  readonly modules: Modules;
  readonly admission: Admission;
  readonly log: Log;
  readonly shutdown: Shutdown;
}

/**
 * Starts a gateway with an endpoint. The caller must stop it.
 * @param endpointOf creates the endpoint from the opened parts
 */
export async function startWorld(
  files: ConfigFiles,
  endpointOf: (opened: Opened) => MountEndpoint,
  { logFile = '/dev/null', env = {} }: WorldOptions = {},
): Promise<World> {
  const loaded = await configOf(files, { TRAILGATE_DATA_DIR: temporaryFolder('inner'), ...env });
  const running = new RunningConfig(withoutDocuments(loaded));
  const log = openLog('info', openSync(logFile, 'a'));
  const shutdown = new Shutdown(log);
  const counterLocation = {
    url: loaded.environment.redisUrl,
    isCountingProcess: loaded.environment.redisUrl === undefined,
  };
  const roles = ['gateway'] as const;
  const stores = await openStores(loaded, roles, counterLocation, true, log, shutdown);
  const ahead = clockAheadMs(systemClock);
  const time = { clockAheadMs: ahead, recordTime: recordTime(stores.database.kind, ahead) };
  const shared = { config: running, ...stores, clock: systemClock, log, gauges: [], shutdown };
  const modules = await openModules(shared, { roles, forwards: true, isFirst: true, counterLocation, ...time });
  const admission = openAdmission(modules, modules);
  const { publicUrl, ...rest } = admission;
  const { file } = running.current;
  const rows: RequestLogRow[] = [];
  const connections = new Connections(file.gateway, file.services);
  const application = await createGatewayApplication(
    {
      config: running.current,
      clock: systemClock,
      errorPages: publicUrl.errorPages,
      ...rest,
      cors: new Cors(file.gateway.cors, admission.routes),
      entranceRules: new EntranceRules(file),
      requestLogs: modules.requestLogs,
      usage: modules.usage,
      forwarder: modules.forwarder!,
      requestLines: new RequestLines(file.gateway.log),
      proxyStatus: new ProxyStatus(),
      draining: { hasBegun: false },
      connections,
      mountEndpoint: endpointOf({ modules, admission, log, shutdown }),
    },
    log,
    [],
  );
  await application.listen(0, '127.0.0.1');
  const { port } = application.getHttpServer().address() as AddressInfo;
  publicUrl.setPort(port);
  return {
    url: `http://127.0.0.1:${port}`,
    modules,
    async newKey(plan, scopes = ['*']) {
      const account = { name: 'Inner', plan, time_zone: 'UTC', billing_day: 1 };
      const { id } = await modules.accounts.create(account, CONTEXT);
      const wanted = { name: 'inner', scopes, environment: 'live', expires_at: null, allowed_ips: [], limits: null };
      const { secret, key } = await modules.keyStore.create(id, wanted as never, CONTEXT);
      return { secret, keyId: key.id, accountId: id };
    },
    async revoke(keyId) {
      await modules.keyStore.revoke(keyId, CONTEXT);
    },
    written(accountId) {
      while (modules.requestLogs.accountsWaiting > 0) modules.requestLogs.takeFirst(() => MAX_ROWS, rows);
      return rows.filter((row) => row.accountId === accountId);
    },
    async stop() {
      const closed = application.close();
      await connections.endAll(0);
      await closed;
      await shutdown.run();
    },
  };
}

/** Starts a gateway with an endpoint at `/inner` that makes the requested inner calls. The caller must stop it. */
export async function startInnerWorld(files: ConfigFiles, logFile?: string): Promise<InnerWorld> {
  const endpointOf = ({ modules, admission }: Opened): MountEndpoint => {
    const { operations } = modules.config.current;
    return ({ inner, refuse }) => ({
      serves: (path) => path === '/inner',
      serve: (request) => {
        void bodyOf(request).then((text) => {
          const { match, url, lines = '', body, mostBytes = MAX_BYTES, isReset } = JSON.parse(text) as InnerRequest;
          const operation = operations.find((one) => `${one.method} ${one.template}` === match);
          if (operation === undefined) {
            refuse(request, new Error(`no ${match}`));
            return;
          }
          const upload = body === undefined ? undefined : Buffer.from(body);
          const call = {
            operation,
            url,
            lines,
            body: upload,
            carrier: isReset === true ? withoutAddress(request) : request,
            key: undefined,
            tool: 'a_tool',
            mostBytes,
          };
          let isDone = false;
          const begun = inner.begin(call, (response) => {
            isDone = true;
            request.closeListener = undefined;
            const said = JSON.stringify(resultOf(response, request.requestId, admission.publicUrl.errorPages));
            request.nodeResponse.writeHead(200, { 'content-length': Buffer.byteLength(said) }).end(said);
          });
          if (!isDone) request.closeListener = { onClose: () => begun.cancel() };
        });
      },
    });
  };
  const world = await startWorld(files, endpointOf, logFile === undefined ? {} : { logFile });
  return {
    ...world,
    async inner(secret, request) {
      const headers = { authorization: `Bearer ${secret}` };
      return (await send(`${world.url}/inner`, { method: 'POST', headers, body: request })).json<InnerResult>();
    },
  };
}

/** Returns the request with an empty client address, as after a reset of its connection. */
function withoutAddress(request: EndpointRequest): EndpointRequest {
  return new Proxy(request, { get: (of, name) => (name === 'clientAddress' ? '' : Reflect.get(of, name, of)) });
}

function resultOf(response: InnerResponse, requestId: string, pages: ErrorPages): InnerResult {
  const { status, lines, body, isCut, quotaLines, problem } = response;
  const said = problem === undefined ? null : problemBody(problem, requestId, pages);
  return { status, lines, body: body.toString(), isCut, quotaLines, problem: said as InnerResult['problem'] };
}

async function bodyOf({ incoming }: EndpointRequest): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
