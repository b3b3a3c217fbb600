/**
 * Shutdown with open streams. During `gateway.shutdown.delay` everything is served. Then HTTP/2 connections get GOAWAY,
 * WebSockets get close frame 1001, and running requests may finish. After `drain` the rest is cut, in a way that never
 * looks complete.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect as connectHttp2, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { makeCertificate, type CertificateFiles } from '../support/certificates.js';
import { describeWithOpenssl, describeWithRedis } from '../support/describe-with.js';
import { exchange, send } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually, sleep, temporaryFolder, type Exit } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import type { Json } from '../support/program-config.js';
import { sharedRedisUrl } from '../support/redis.js';

const DELAY_MS = 2_000;
const DRAIN_MS = 1_500;
/** Maximum time of the phases after the drain on a busy machine, in milliseconds. */
const REST_MS = 4_000;
/** Time limit for the head of a request, in milliseconds. */
const HEAD_MS = 10_000;

/**
 * Backend that streams ticks on /customers and answers late on /customers/late. It echoes on /live, and with a delay on
 * /live/slow.
 */
class Backend {
  private readonly server: Server = createServer((request, response) => this.answer(request, response));
  private readonly sockets = new Set<Socket>();
  handshakes = 0;
  url = '';

  async listen(): Promise<this> {
    this.server.on('upgrade', (request: IncomingMessage, socket: Socket) => this.upgrade(request, socket));
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return this;
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.closeAllConnections();
    this.server.close();
  }

  private answer({ url }: IncomingMessage, response: ServerResponse): void {
    if (url === '/customers/late') {
      setTimeout(() => response.end('late'), 700);
    } else if (url === '/customers/at-once') {
      response.end('at once');
    } else {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const timer = setInterval(() => response.write('data: tick\n\n'), 20);
      response.on('close', () => clearInterval(timer));
    }
  }

  private upgrade({ url, headers }: IncomingMessage, socket: Socket): void {
    this.handshakes += 1;
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    const accept = createHash('sha1')
      .update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    const agree = (): void => {
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
          `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
      );
      socket.pipe(socket);
    };
    if (url === '/live/slow') setTimeout(agree, 500);
    else agree();
  }
}

/** Raw connection, with the text that it has received. */
interface Raw {
  readonly socket: Socket;
  text(): string;
  /** Returns undefined while the connection is open. `wasReset` means that it did not end cleanly. */
  ended(): { readonly wasReset: boolean } | undefined;
}

/** Returns the code of the close frame after the handshake response, or undefined while there is none. */
function closeCode({ text }: Raw): number | undefined {
  const bytes = Buffer.from(text(), 'latin1');
  const frames = bytes.subarray(bytes.indexOf('\r\n\r\n') + 4);
  const at = frames.indexOf(0x88);
  return at < 0 || frames.length < at + 4 ? undefined : frames.readUInt16BE(at + 2);
}

/** Result of a shutdown during a request head that never ends. It starts first, and waits while the other tests run. */
let shutdownDuringHead: Promise<{ readonly exit: Exit; readonly tookMs: number }>;
beforeAll(() => {
  shutdownDuringHead = stopDuringHead();
  shutdownDuringHead.catch(() => undefined);
});

async function stopDuringHead(): Promise<Awaited<typeof shutdownDuringHead>> {
  const { gatewayUrl, adminUrl, stop } = await startTrailgate();
  const slow = connect(Number(new URL(gatewayUrl).port), '127.0.0.1').on('error', () => undefined);
  slow.write('GET /api/v1/open HTTP/1.1\r\n');
  const isConnected = async () => seriesOf((await send(`${adminUrl}/metrics`)).text).get('trailgate_connections') === 1;
  await eventually('the connection is accepted', isConnected);
  const startedMs = performance.now();
  const exit = await stop(60_000);
  slow.destroy();
  return { exit, tookMs: quietMsSince(startedMs) };
}

let backend: Backend;
let trailgate: RunningTrailgate;
let secret: string;
let files: CertificateFiles | undefined;
const open: { destroy(): unknown }[] = [];

async function start(config: Json, more: Parameters<typeof startTrailgate>[0] = {}): Promise<void> {
  backend = await new Backend().listen();
  const live = { match: 'GET /live/{room}', service: 'backend', scopes: ['customers:read'], websocket: true };
  trailgate = await startTrailgate({ ...more, backend: backend.url, config: { ...config, operations: [live] } });
  ({ secret } = (await trailgate.admin.newKey()).key);
}

afterEach(async () => {
  for (const each of open.splice(0)) each.destroy();
  await trailgate?.stop();
  backend?.stop();
});

function raw(path: string, version = '1.1', fields: readonly string[] = []): Raw {
  const { hostname, port } = new URL(trailgate.gatewayUrl);
  const socket =
    files === undefined
      ? connect(Number(port), hostname)
      : connectTls({ port: Number(port), host: hostname, ca: readFileSync(files.cert), ALPNProtocols: ['http/1.1'] });
  open.push(socket);
  let text = '';
  let ended: { wasReset: boolean } | undefined;
  socket.setEncoding('latin1').on('data', (data: string) => (text += data));
  socket.on('error', () => (ended ??= { wasReset: true }));
  socket.on('close', () => (ended ??= { wasReset: false }));
  socket.on('end', () => (ended ??= { wasReset: false }));
  const head = [`GET /api/v1${path} HTTP/${version}`, 'Host: localhost', `Authorization: Bearer ${secret}`, ...fields];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  return { socket, text: () => text, ended: () => ended };
}

const webSocket = (path = '/live/a'): Raw =>
  raw(path, '1.1', [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
  ]);

/** Sends a WebSocket frame, and expects the backend to echo it. */
async function expectEcho({ socket, text }: Raw): Promise<void> {
  await eventually('the WebSocket is open', () => text().startsWith('HTTP/1.1 101'));
  const before = text().length;
  socket.write(Buffer.from([0x81, 0x02, 0x68, 0x69]));
  await eventually('the echo arrives', () => text().length === before + 4);
}

function session(): ClientHttp2Session {
  const made = connectHttp2(trailgate.gatewayUrl, { ca: readFileSync(files?.cert ?? '') });
  made.on('error', () => undefined);
  open.push(made);
  return made;
}

const ask = (on: ClientHttp2Session, path: string): ClientHttp2Stream => {
  const stream = on.request({ ':path': `/api/v1${path}`, authorization: `Bearer ${secret}` });
  stream.on('error', () => undefined);
  return stream.setEncoding('latin1');
};

async function whole(stream: ClientHttp2Stream): Promise<string> {
  let text = '';
  stream.on('data', (data: string) => (text += data));
  await once(stream, 'end');
  return text;
}

describeWithOpenssl('shutdown with HTTP/2 and WebSockets', () => {
  const config: Json = { gateway: { shutdown: { delay: `${DELAY_MS}ms`, drain: `${DRAIN_MS}ms` } } };

  it('serves everything during the delay, then sends GOAWAY and 1001, and cuts the rest after the drain', async () => {
    files = makeCertificate(temporaryFolder('shutdown-streams'));
    const tls = { cert: files.cert, key: files.key };
    await start({ gateway: { ...(config['gateway'] as Json), tls } });
    const old = session();
    const goaways: number[] = [];
    old.on('goaway', (code) => goaways.push(code));
    const endless = ask(old, '/customers');
    let ticks = 0;
    endless.on('data', () => ticks++);
    const [firstSocket, stream] = [webSocket(), raw('/customers')];
    await expectEcho(firstSocket);
    await eventually('both streams receive data', () => ticks > 3 && stream.text().includes('tick'));

    const startedMs = performance.now();
    const exit = trailgate.stop();
    await eventually(
      'the gateway is not ready',
      async () => (await send(`${trailgate.adminUrl}/readyz`)).status === 503,
    );
    // Existing and new connections are served as before.
    const young = session();
    expect(await whole(ask(old, '/customers/at-once'))).toBe('at once');
    expect(await whole(ask(young, '/customers/at-once'))).toBe('at once');
    await expectEcho(firstSocket);
    const secondSocket = webSocket();
    await expectEcho(secondSocket);
    expect((await send(`${trailgate.gatewayUrl}/api/v1/open`)).status).toBe(401);
    expect([goaways.length, closeCode(firstSocket), closeCode(secondSocket)]).toEqual([0, undefined, undefined]);

    const late = whole(ask(young, '/customers/late'));
    await eventually(
      'both WebSockets get close frame 1001',
      () => closeCode(firstSocket) === 1001 && closeCode(secondSocket) === 1001,
    );
    await eventually('GOAWAY arrives', () => goaways.length === 1);
    const toldMs = performance.now() - startedMs;
    expect(toldMs).toBeGreaterThanOrEqual(DELAY_MS - 20);
    expect(goaways).toEqual([0]);
    await expect(send(`${trailgate.gatewayUrl}/api/v1/open`)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(await late).toBe('late');
    const before = ticks;
    await eventually('the streams still receive data', () => ticks > before + 3);
    expect([endless.closed, stream.ended()]).toEqual([false, undefined]);

    await eventually('the streams are cut', () => endless.closed && stream.ended() !== undefined, REST_MS);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(DELAY_MS + DRAIN_MS - 50);
    expect(endless.rstCode).not.toBe(0);
    expect(stream.text()).not.toMatch(/\r\n0\r\n\r\n$/);
    await expect(exit).resolves.toEqual({ code: 0, signal: null });
    expect(quietMsSince(startedMs)).toBeLessThan(DELAY_MS + DRAIN_MS + REST_MS);
    const phases = trailgate.logs().filter(({ event }) => event === 'shutdown_phase');
    const [, ...said] = phases.map(({ phase, level }) => `${String(phase)}: ${String(level)}`);
    const ended = ['rest webhooks: info', 'readiness off: info', 'end MCP streams: info', 'drain gateway: error'];
    expect(said.slice(0, 4)).toEqual(ended);
  });

  it('ends with the last response, and does not wait for idle connections', async () => {
    files = makeCertificate(temporaryFolder('shutdown-idle'));
    await start({ gateway: { tls: { cert: files.cert, key: files.key } } });
    const idle = session();
    expect(await whole(ask(idle, '/customers/at-once'))).toBe('at once');
    const busy = session();
    const late = whole(ask(busy, '/customers/late'));
    await sleep(200);
    const startedMs = performance.now();
    const exit = trailgate.stop();
    expect(await late).toBe('late');
    await expect(exit).resolves.toEqual({ code: 0, signal: null });
    expect(quietMsSince(startedMs)).toBeLessThan(REST_MS);
    expect([idle.closed, busy.closed]).toEqual([true, true]);
  });
});

describeWithOpenssl('shutdown with connections that have only opened', () => {
  it('serves an HTTP/2 request whose TLS handshake follows after the listener closed, without delay', async () => {
    files = makeCertificate(temporaryFolder('shutdown-late'));
    await start({ gateway: { tls: { cert: files.cert, key: files.key } } });
    const { hostname, port } = new URL(trailgate.gatewayUrl);
    const early = connect(Number(port), hostname);
    open.push(early);
    const endless = ask(session(), '/customers').resume();
    await Promise.all([once(early, 'connect'), once(endless, 'response')]);
    const exit = trailgate.stop();
    await eventually('the listener is closed', () =>
      send(`${trailgate.gatewayUrl}/api/v1/open`).then(
        () => false,
        ({ code }: { code?: string }) => code === 'ECONNREFUSED',
      ),
    );
    const late = connectHttp2(trailgate.gatewayUrl, { ca: readFileSync(files.cert), socket: early });
    open.push(late);
    expect(await whole(ask(late, '/customers/at-once'))).toBe('at once');
    await eventually('the HTTP/2 session is closed', () => late.closed, REST_MS);
    expect(endless.closed).toBe(false);
    endless.close();
    const startedMs = performance.now();
    await expect(exit).resolves.toEqual({ code: 0, signal: null });
    expect(quietMsSince(startedMs)).toBeLessThan(REST_MS);
  });
});

describe('shutdown without TLS', () => {
  const drain = { gateway: { shutdown: { drain: `${DRAIN_MS}ms` } } };

  it('opens a WebSocket whose handshake is in progress, and closes it with 1001', async () => {
    files = undefined;
    await start(drain);
    const socket = webSocket('/live/slow');
    await eventually('the backend gets the handshake', () => backend.handshakes === 1);
    const startedMs = performance.now();
    const exit = trailgate.stop();
    await eventually('the WebSocket gets close frame 1001', () => closeCode(socket) === 1001);
    expect(socket.text()).toMatch(/^HTTP\/1\.1 101 /);
    await eventually('the WebSocket is closed', () => socket.ended() !== undefined);
    await expect(exit).resolves.toEqual({ code: 0, signal: null });
    expect(quietMsSince(startedMs)).toBeLessThan(REST_MS);
  });

  it('resets a running HTTP/1.0 response, so that it does not look complete', async () => {
    files = undefined;
    await start(drain);
    const stream = raw('/customers', '1.0');
    await eventually('the stream receives data', () => stream.text().includes('tick'));
    const exit = trailgate.stop();
    await eventually('the stream has ended', () => stream.ended() !== undefined, DRAIN_MS + REST_MS);
    expect(stream.ended()).toEqual({ wasReset: true });
    expect((await exit).code).toBe(0);
  });
});

describeWithRedis('shutdown of workers', () => {
  it('serves everything during the delay, and then closes all WebSockets with 1001', async () => {
    files = undefined;
    const env = { REDIS_URL: await sharedRedisUrl() };
    await start({ gateway: { shutdown: { delay: `${DELAY_MS}ms` } } }, { env, args: ['--workers', '2'] });
    const sockets = Array.from({ length: 6 }, () => webSocket());
    await Promise.all(sockets.map((socket) => expectEcho(socket)));
    const startedMs = performance.now();
    const exit = trailgate.stop();
    await eventually(
      'the gateway is not ready',
      async () => (await send(`${trailgate.adminUrl}/readyz`)).status === 503,
    );
    const late = webSocket();
    await expectEcho(late);
    await Promise.all(sockets.map((socket) => expectEcho(socket)));
    const headers = { authorization: `Bearer ${secret}` };
    const { response } = await exchange(`${trailgate.gatewayUrl}/api/v1/customers/at-once`, { headers });
    expect([response.statusCode, response.headers.connection]).toEqual([200, 'close']);
    await eventually('all WebSockets get close frame 1001', () =>
      [...sockets, late].every((socket) => closeCode(socket) === 1001),
    );
    await expect(exit).resolves.toEqual({ code: 0, signal: null });
    expect(quietMsSince(startedMs)).toBeLessThan(DELAY_MS + REST_MS);
  });
});

it('shutdown waits for an unfinished request head no longer than the usual time limit for heads', async () => {
  const { exit, tookMs } = await shutdownDuringHead;
  expect(exit).toEqual({ code: 0, signal: null });
  expect(tookMs).toBeLessThan(HEAD_MS + REST_MS);
});
