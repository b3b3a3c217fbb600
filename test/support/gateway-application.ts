/** Runs the gateway application in this process on a real port, with the program's parts except the backends. */
import { publicPaths } from '../../src/config/model/apis.js';
import { openSync } from 'node:fs';
import { Agent } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Config } from '../../src/config/model/schema.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { Connections } from '../../src/gateway/listener/connections.js';
import { createGatewayApplication } from '../../src/gateway/listener/gateway.application.js';
import { ErrorPages } from '../../src/platform/problems/error-pages.js';
import { Cors } from '../../src/gateway/request/cors.js';
import { EntranceRules } from '../../src/gateway/request/entrance-rules.js';
import { RequestLines } from '../../src/gateway/request/request-lines.js';
import { UsageReader } from '../../src/quota/usage-reader.js';
import type { Clock } from '../../src/platform/clock.js';
import { openLog } from '../../src/platform/log.js';
import type { Forwarder } from '../../src/proxy/calls/forwarder.js';
import { ProxyStatus } from '../../src/proxy/calls/proxy-status.js';
import { RequestLogRecorder } from '../../src/request-logs/recorder.js';
import type { ForwardRequest } from '../../src/proxy/targets/forward-request.js';
import { UsageRows } from '../../src/quota/usage/usage-rows.js';
import type { AdmissionUnderTest } from './admission.js';

/** Value of the `X-Said` header in responses to requests that pass all steps. */
export const FORWARDED = 'forwarded';

export interface RunningGateway {
  readonly url: string;
  /** Agent that keeps its connection open. Sends one request at a time. */
  readonly agent: Agent;
  close(): Promise<void>;
}

/**
 * Starts the gateway on a free port. Responds to forwarded requests at once, with `FORWARDED` in a header. The caller
 * must close it.
 */
export async function startGateway(
  config: Config,
  database: DatabaseHandle,
  { parts, steps }: AdmissionUnderTest,
  clock: Clock,
): Promise<RunningGateway> {
  const log = openLog('error', openSync('/dev/null', 'w'));
  const { file } = config;
  const application = await createGatewayApplication(
    {
      ...parts,
      steps,
      config,
      clock,
      errorPages: new ErrorPages('http://localhost:8080'),
      cors: new Cors(file.gateway.cors, parts.routes),
      entranceRules: new EntranceRules(file),
      usage: new UsageReader(file.plans, parts.quotas, new UsageRows(database.db), clock),
      forwarder: { forward } as unknown as Forwarder,
      requestLogs: new RequestLogRecorder(publicPaths(file)),
      requestLines: new RequestLines(file.gateway.log),
      proxyStatus: new ProxyStatus(),
      draining: { hasBegun: false },
      connections: new Connections(file.gateway, file.services),
    },
    log,
    [],
  );
  await application.listen(0, '127.0.0.1');
  const { port } = application.getHttpServer().address() as AddressInfo;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    url: `http://127.0.0.1:${port}`,
    agent,
    close: async () => {
      agent.destroy();
      await application.close();
    },
  };
}

function forward({ client }: ForwardRequest): void {
  client.response.nodeResponse.writeHead(200, { 'X-Said': FORWARDED, 'Content-Length': 0 });
  client.response.nodeResponse.end();
}
