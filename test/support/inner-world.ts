/** A gateway in this process on all that the program gives it, with a door of the test's that makes inner calls. */
import { openSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { Door, DoorHost } from '../../src/admission/doors/door.js';
import type { DoorRequest } from '../../src/admission/doors/door-request.js';
import type { InnerResponse, RunningCall } from '../../src/admission/doors/inner-call.js';
import { openAdmission } from '../../src/boot/open-admission.js';
import { openDomain, type Domain } from '../../src/boot/open-domain.js';
import { Shutdown } from '../../src/boot/shutdown.js';
import { RunningConfig } from '../../src/config/running-config.js';
import { Connections } from '../../src/gateway/listener/connections.js';
import { createGatewayApplication } from '../../src/gateway/listener/gateway.application.js';
import { Cors } from '../../src/gateway/request/cors.js';
import { systemClock } from '../../src/platform/clock.js';
import { openLog } from '../../src/platform/log.js';
import { problemBody } from '../../src/problems/problem-body.js';
import { ProxyStatus } from '../../src/proxy/calls/proxy-status.js';
import type { RequestLogRow } from '../../src/request-logs/request-log-row.js';
import { configOf, type ConfigFiles } from './config-files.js';
import { send } from './http.js';
import { temporaryFolder } from './processes.js';

/** What the door is asked for. */
export interface InnerRequest {
  /** `GET /files/{name}`: what it must lead to. */
  readonly match: string;
  /** With the base path. */
  readonly url: string;
  readonly lines?: string;
  readonly body?: string;
  readonly mostBytes?: number;
}

/** What came back, as JSON. */
export interface InnerResult {
  readonly status: number;
  readonly lines: string;
  readonly body: string;
  readonly isCut: boolean;
  readonly quotaLines: string;
  readonly problem: Record<string, unknown> | null;
}

export interface InnerWorld {
  readonly url: string;
  readonly domain: Domain;
  /** Keys of new accounts. */
  newKey(plan: string, scopes?: readonly string[]): Promise<{ secret: string; keyId: string; accountId: string }>;
  inner(secret: string, request: InnerRequest): Promise<InnerResult>;
  /** The calls that have been begun, in their order. */
  readonly calls: readonly RunningCall[];
  /** Rows of the log of requests that an account has been given. */
  written(accountId: string): RequestLogRow[];
  stop(): Promise<void>;
}

const MOST_BYTES = 64 * 1_024;
const MOST_ROWS = 1_000;
const CONTEXT = { actor: 'operator', ip: '127.0.0.1', requestId: 'req_test' } as const;

/** Starts it. */
export async function startInnerWorld(files: ConfigFiles, logFile = '/dev/null'): Promise<InnerWorld> {
  const loaded = await configOf(files, { TRAILGATE_DATA_DIR: temporaryFolder('inner') });
  const running = new RunningConfig(loaded);
  const log = openLog('info', openSync(logFile, 'w'));
  const shutdown = new Shutdown(log);
  const domain = await openDomain(running, ['gateway'], true, log, shutdown);
  const { publicUrl, ...admission } = openAdmission(domain, log);
  const { file, operations } = running.current;
  const calls: RunningCall[] = [];
  const rows: RequestLogRow[] = [];
  const openDoor = ({ inner, refuse }: DoorHost): Door => ({
    takes: (path) => path === '/inner',
    serve: (request) => {
      void bodyOf(request).then((text) => {
        const { match, url, lines = '', body, mostBytes = MOST_BYTES } = JSON.parse(text) as InnerRequest;
        const operation = operations.find((one) => `${one.method} ${one.template}` === match);
        if (operation === undefined) {
          refuse(request, new Error(`no ${match}`));
          return;
        }
        const upload = body === undefined ? undefined : Buffer.from(body);
        const call = { operation, url, lines, body: upload, carrier: request, tool: 'a_tool', mostBytes };
        const begun = inner.begin(call, (response) => {
          request.closeListener = undefined;
          const said = JSON.stringify(resultOf(response, request));
          request.nodeResponse.writeHead(200, { 'content-length': Buffer.byteLength(said) }).end(said);
        });
        request.closeListener = { onClose: () => begun.cancel() };
        calls.push(begun);
      });
    },
  });
  const resultOf = ({ status, lines, body, isCut, quotaLines, problem }: InnerResponse, request: DoorRequest) => ({
    status,
    lines,
    body: body.toString(),
    isCut,
    quotaLines,
    problem: problem === undefined ? null : problemBody(problem, request.requestId, publicUrl.errorPages),
  });
  const application = await createGatewayApplication(
    {
      config: running.current,
      clock: systemClock,
      errorPages: publicUrl.errorPages,
      ...admission,
      cors: new Cors(file.gateway.cors, admission.routes),
      requestLogs: domain.requestLogs,
      usage: domain.usage,
      forwarder: domain.forwarder!,
      proxyStatus: new ProxyStatus(),
      draining: { hasBegun: false },
      connections: new Connections(file.gateway, file.services),
      openDoor,
    },
    log,
    [],
  );
  await application.listen(0, '127.0.0.1');
  const { port } = application.getHttpServer().address() as AddressInfo;
  publicUrl.bind(port);
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    domain,
    calls,
    async newKey(plan, scopes = ['*']) {
      const account = { name: 'Inner', plan, time_zone: 'UTC', billing_day: 1 };
      const { id } = await domain.accounts.create(account, CONTEXT);
      const wanted = { name: 'inner', scopes, environment: 'live', expires_at: null, allowed_ips: [], limits: null };
      const { secret, key } = await domain.keyStore.create(id, wanted as never, CONTEXT);
      return { secret, keyId: key.id, accountId: id };
    },
    async inner(secret, request) {
      const headers = { authorization: `Bearer ${secret}` };
      return (await send(`${url}/inner`, { method: 'POST', headers, body: request })).json<InnerResult>();
    },
    written(accountId) {
      while (domain.requestLogs.accountsWaiting > 0) domain.requestLogs.takeFirst(() => MOST_ROWS, rows);
      return rows.filter((row) => row.accountId === accountId);
    },
    async stop() {
      await application.close();
      await shutdown.run();
    },
  };
}

async function bodyOf({ incoming }: DoorRequest): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
