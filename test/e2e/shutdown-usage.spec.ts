/**
 * At the end of the drain, a shutdown cuts running requests and records their outcomes. Only a crash leaves
 * `unrecorded`.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { openDatabase } from '../../src/stores/database/connect.js';
import { makeCertificate, type CertificateFiles } from '../support/certificates.js';
import { migratedDatabase, type TestDatabase } from '../support/database.js';
import { describeOnDatabasesWithRedis, describeWithOpenssl } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { sharedRedisUrl } from '../support/redis.js';

/**
 * Expected outcomes. Requests without a response are refunded. A WebSocket counts as successful from its handshake on.
 */
const OUTCOMES: Readonly<Record<string, string>> = {
  stream: 'aborted',
  download: 'aborted',
  silent: 'given_back',
  waits: 'given_back',
  upload: 'given_back',
  socket: 'success',
  http2: 'aborted',
};
const operation = (kind: string, method = 'GET', more: object = {}) => ({
  match: `${method} /${kind}`,
  id: kind,
  service: 'backend',
  scopes: [],
  ...more,
});
const configOf = (url: string) => ({
  gateway: { shutdown: { drain: '1s' } },
  services: { narrow: { targets: [url], connections: 1 } },
  usage: { flushInterval: '200ms' },
  plans: { month: { account: { month: 1_000 } } },
  operations: [
    ...['stream', 'download', 'http2'].map((kind) => operation(kind)),
    ...['silent', 'waits'].map((kind) => operation(kind, 'GET', { service: 'narrow' })),
    operation('upload', 'POST'),
    operation('socket', 'GET', { websocket: true }),
  ],
});

/** Backend whose responses never end. It streams, stays silent, sends without limit, or keeps WebSockets open. */
class Endless {
  readonly asked = new Set<string>();
  url = '';
  private readonly sockets = new Set<Socket>();
  private readonly server: Server = createServer((request, response) => this.answer(request, response));

  async listen(): Promise<this> {
    this.server.on('connection', (socket: Socket) => this.sockets.add(socket));
    this.server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
      const accept = createHash('sha1')
        .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest('base64');
      socket.on('error', () => undefined);
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
      );
      this.asked.add('socket');
    });
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return this;
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const kind = (request.url ?? '').slice(1);
    this.asked.add(kind);
    response.on('error', () => undefined);
    if (kind === 'stream' || kind === 'http2') {
      const timer = setInterval(() => response.write('data: tick\n\n'), 20);
      response.on('close', () => clearInterval(timer));
    } else if (kind === 'download') {
      const piece = Buffer.alloc(1 << 16);
      const more = (): void => {
        while (!response.destroyed && response.write(piece));
      };
      response.on('drain', more);
      more();
    } else if (kind === 'upload') {
      request.resume();
    }
  }
}

let backend: Endless;
let database: TestDatabase | undefined;
const open: { destroy(): unknown }[] = [];
beforeEach(async () => {
  backend = await new Endless().listen();
});
afterEach(async () => {
  for (const each of open.splice(0)) each.destroy();
  backend.stop();
  await database?.drop();
  database = undefined;
});

/** Sends one endless request of each kind on connections that stay open. Returns the kinds. */
async function sendEveryKind(gateway: RunningTrailgate, secret: string, tls?: CertificateFiles): Promise<string[]> {
  const { hostname, port } = new URL(gateway.gatewayUrl);
  const ca = tls === undefined ? undefined : readFileSync(tls.cert);
  const ask = (kind: string, ...lines: string[]): Socket => {
    const head = `Host: localhost\r\nAuthorization: Bearer ${secret}\r\n`;
    const socket =
      ca === undefined
        ? connect(Number(port), hostname)
        : connectTls({ port: Number(port), host: hostname, ca, servername: 'localhost' });
    socket.on('error', () => undefined);
    open.push(socket);
    const method = kind === 'upload' ? 'POST' : 'GET';
    socket.write(`${method} /api/v1/${kind} HTTP/1.1\r\n${head}${lines.map((line) => `${line}\r\n`).join('')}\r\n`);
    return socket;
  };
  ask('stream').resume();
  ask('silent').resume();
  ask('download').pause();
  const upload = ask('upload', 'Content-Length: 1000000').resume();
  const feeding = setInterval(() => upload.write('x'), 100);
  open.push({ destroy: () => clearInterval(feeding) });
  const key = randomBytes(16).toString('base64');
  ask('socket', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${key}`);
  if (ca !== undefined) {
    const session = connectHttp2(gateway.gatewayUrl, { ca });
    session.on('error', () => undefined);
    open.push(session);
    const stream = session.request({ ':path': '/api/v1/http2', authorization: `Bearer ${secret}` });
    stream.on('error', () => undefined);
    stream.resume();
  }
  const kinds = Object.keys(OUTCOMES).filter((kind) => kind !== 'http2' || ca !== undefined);
  await eventually('all endless requests are at the backend', () => backend.asked.size === kinds.length - 1);
  ask('waits').resume();
  const waiting = 'trailgate_upstream_waiting_requests{service="narrow"}';
  await eventually(
    'a request is queued, or runs in another worker',
    async () =>
      backend.asked.has('waits') || seriesOf((await send(`${gateway.adminUrl}/metrics`)).text).get(waiting) === 1,
  );
  return kinds;
}

/** Returns the stored outcomes by operation after the shutdown. Requests that are still in flight appear as such. */
async function recorded(options: TestDatabase['options']): Promise<Record<string, string>> {
  const { db, close } = await openDatabase(options);
  const { rows } = await sql<{ operation: string; outcome: string; requests: number }>`
    select operation, outcome, requests from usage_daily where requests <> 0
    union all select operation, 'in flight' as outcome, requests from usage_in_flight`.execute(db);
  await close();
  // On a busy machine, Redis may take longer than 50 ms to refund a cost. Usage then says that the cost was kept.
  return Object.fromEntries(
    rows.map(({ operation: id, outcome }) => [id, outcome === 'server_error' ? 'given_back' : outcome]),
  );
}

async function expectOutcomes(gateway: RunningTrailgate, tls?: CertificateFiles): Promise<void> {
  const { key } = await gateway.admin.newKey('month');
  const kinds = await sendEveryKind(gateway, key.secret, tls);
  const { code } = await gateway.stop();
  expect(code).toBe(0);
  const outcomes = await recorded(database?.options ?? { dataDir: gateway.dataDir });
  expect(outcomes).toEqual(Object.fromEntries(kinds.map((kind) => [kind, OUTCOMES[kind]])));
  const lines = gateway.logs().filter(({ event }) => event === 'request');
  expect(lines.map((line) => line['operation']).toSorted()).toEqual(kinds.toSorted());
}

describe('requests cut by a shutdown with counters in the process', () => {
  it('are recorded with their final outcome, and each has a line in the request log', async () => {
    await expectOutcomes(await startTrailgate({ backend: backend.url, config: configOf(backend.url) }));
  });
});

describeWithOpenssl('requests cut by a shutdown over TLS', () => {
  it('are recorded with their final outcome, including an HTTP/2 stream', async () => {
    const files = makeCertificate(temporaryFolder('shutdown-usage'));
    const config = configOf(backend.url);
    Object.assign(config.gateway, { tls: { cert: files.cert, key: files.key } });
    await expectOutcomes(await startTrailgate({ backend: backend.url, config }), files);
  });
});

describeOnDatabasesWithRedis('requests cut by a shutdown with counters in Redis', (kind) => {
  it.each(['1', '2'])(
    'are recorded with their final outcome, and each has a line in the request log (%s workers)',
    async (workers) => {
      database = await migratedDatabase(kind);
      const { databaseUrl, dataDir } = database.options;
      const env = {
        REDIS_URL: await sharedRedisUrl(),
        ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
      };
      const place = databaseUrl === undefined ? { dataDir } : {};
      const args = ['--workers', workers];
      await expectOutcomes(
        await startTrailgate({ backend: backend.url, config: configOf(backend.url), env, args, ...place }),
      );
    },
  );
});
