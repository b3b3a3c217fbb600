/**
 * Open streams end when their key loses access. Every process cuts responses and WebSockets within a second of the
 * change, and they never look complete. Streams of other keys continue.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { WebSocket } from 'undici';
import type { Account, ApiKeyWithSecret } from '../support/admin.js';
import { makeCertificate } from '../support/certificates.js';
import { describeWithOpenssl, describeWithOwnRedisAndPostgres } from '../support/describe-with.js';
import { exchange, send } from '../support/http.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { eventually, sleep, temporaryFolder } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import type { Json } from '../support/program-config.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { TurnedClock } from '../support/turned-clock.js';

const SOON_MS = 1_000;
/** Longer than a process trusts a cached key without messages about changes. */
const SILENT_MS = 11_000;
/** Sweep interval, plus one second for a busy machine. */
const SWEPT_MS = 11_000;
const TICK_MS = 50;

/**
 * Backend that streams ticks without end: as server-sent events, as a body with Content-Length, or as WebSocket text
 * frames.
 */
class TickingBackend {
  readonly server: Server = createServer((request, response) => this.answer(request, response));
  private readonly sockets = new Set<Socket>();
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

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const begin = (): void => {
      const isFile = request.url?.startsWith('/files/') === true;
      response.writeHead(200, isFile ? { 'content-length': 10_000_000 } : { 'content-type': 'text/event-stream' });
      response.write(isFile ? 'x' : 'data: 0\n\n');
      const timer = setInterval(() => response.write(isFile ? 'x' : 'data: tick\n\n'), TICK_MS);
      response.on('close', () => clearInterval(timer));
    };
    if (request.url === '/customers/late') setTimeout(begin, 700);
    else begin();
  }

  private upgrade(request: IncomingMessage, socket: Socket): void {
    this.sockets.add(socket);
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    // Sends the beginning of a frame, or ticks.
    if (request.url === '/live/half') socket.write(Buffer.from([0x81, 0x7d, 0x61]));
    const timer = setInterval(() => {
      if (request.url !== '/live/half') socket.write(Buffer.concat([Buffer.from([0x81, 4]), Buffer.from('tick')]));
    }, TICK_MS);
    socket.on('error', () => undefined);
    socket.on('close', () => clearInterval(timer));
    socket.resume();
  }
}

/** Open stream or WebSocket. */
interface Live {
  /** Returns the number of pieces that have arrived. */
  pieces(): number;
  /** Returns how it ended, or undefined while it is open. `clean` means that it looks complete. */
  ended(): { readonly clean: boolean; readonly code?: number; readonly reason?: string } | undefined;
  close(): void;
}

type Open = (running: RunningTrailgate, secret: string, path?: string) => Promise<Live>;

const opened: Live[] = [];

const stream: Open = async (running, secret, path = '/customers') => {
  const { request, response } = await exchange(`${running.gatewayUrl}/api/v1${path}`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  expect(response.statusCode).toBe(200);
  let pieces = 0;
  let ended: { clean: boolean } | undefined;
  response.on('data', () => pieces++);
  response.on('error', () => undefined);
  response.on('close', () => (ended = { clean: response.complete }));
  const live = { pieces: () => pieces, ended: () => ended, close: () => void request.destroy() };
  opened.push(live);
  return live;
};

const webSocket: Open = async (running, secret, path = '/live/a') => {
  const socket = new WebSocket(`${running.gatewayUrl.replace('http', 'ws')}/api/v1${path}`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  let pieces = 0;
  let ended: ReturnType<Live['ended']>;
  socket.addEventListener('message', () => pieces++);
  socket.addEventListener('close', ({ wasClean, code, reason }) => (ended = { clean: wasClean, code, reason }));
  await eventually('the WebSocket is open', () => socket.readyState === WebSocket.OPEN || ended !== undefined);
  const live = { pieces: () => pieces, ended: () => ended, close: () => socket.close() };
  opened.push(live);
  return live;
};

const expectFlowing = async (...all: readonly Live[]): Promise<void> => {
  const before = all.map((live) => live.pieces());
  await eventually('all streams receive data', () =>
    all.every((live, index) => live.pieces() > (before[index] ?? 0) + 1),
  );
  expect(all.map((live) => live.ended())).toEqual(all.map(() => undefined));
};

const config: Json = {
  operations: [{ match: 'GET /live/{room}', service: 'backend', scopes: ['customers:read'], websocket: true }],
};

afterEach(() => {
  for (const live of opened.splice(0)) live.close();
});

describeWithOwnRedisAndPostgres('open streams and WebSockets on two processes', () => {
  let backend: TickingBackend;
  let redis: RedisServer;
  let database: FreshDatabase;
  let one: RunningTrailgate;
  let two: RunningTrailgate;
  let account: Account;
  let key: ApiKeyWithSecret;
  const clock = new TurnedClock();
  /** Streams that no message ends: one whose key expires, and one whose key is revoked while Redis is down. */
  let unheard: Live[];
  let lasting: ApiKeyWithSecret;

  const metric = async ({ adminUrl }: RunningTrailgate): Promise<string> =>
    (await send(`${adminUrl}/metrics`)).text
      .split('\n')
      .filter((line) => line.startsWith('trailgate_streams_cut'))
      .join();

  beforeAll(async () => {
    [backend, redis, database] = await Promise.all([new TickingBackend().listen(), startRedis(), freshDatabase()]);
    const env = { ...clock.env, REDIS_URL: redis.url, DATABASE_URL: database.url };
    const options = { backend: backend.url, config, env };
    one = await startTrailgate(options);
    two = await startTrailgate({ ...options, roles: ['gateway'] });
    const { adminUrl } = two;
    const hears = async () => (await send(`${adminUrl}/metrics`)).text.includes('\ntrailgate_invalidation_bus_up 1\n');
    await eventually('the second process receives messages of the bus', hears);
    const expires_at = new Date(Date.now() + 5_000).toISOString();
    const [expiring, other] = await Promise.all([one.admin.newKey('unlimited', { expires_at }), one.admin.newKey()]);
    lasting = other.key;
    unheard = [];
    for (const { secret } of [expiring.key, lasting]) {
      unheard.push(await stream(one, secret), await webSocket(two, secret));
    }
    opened.length = 0;
  });
  afterAll(async () => {
    for (const live of unheard ?? []) live.close();
    await Promise.all([one.stop(), two.stop()]);
    backend.stop();
    await Promise.all([redis.stop(), database.drop()]);
  });

  /** Opens a stream and a WebSocket on each process with a new key. Waits until all of them receive data. */
  async function openAll(): Promise<Live[]> {
    ({ account, key } = await one.admin.newKey('unlimited', { scopes: ['customers:read', 'files:read'] }));
    const all: Live[] = [];
    for (const running of [one, two]) {
      all.push(await stream(running, key.secret), await webSocket(running, key.secret));
    }
    await expectFlowing(...all);
    return all;
  }

  /** Expects all to be cut in time. Streams must look incomplete, and WebSockets must get the reason. */
  async function expectCut(all: readonly Live[]): Promise<void> {
    await eventually('all streams are cut', () => all.every((live) => live.ended() !== undefined), SOON_MS);
    const stream = { clean: false };
    const socket = { clean: true, code: 1008, reason: 'The API key is no longer valid for this connection.' };
    expect(all.map((live) => live.ended())).toEqual(all.map((_live, index) => (index % 2 === 0 ? stream : socket)));
  }

  it('are cut within a second when their key is revoked; those of another key continue', async () => {
    const all = await openAll();
    const other = await one.admin.createKey(account.id, { scopes: ['customers:read'] });
    const others = [await stream(one, other.secret), await webSocket(two, other.secret)];
    await one.admin.revokeKey(key.id);
    await expectCut(all);
    await expectFlowing(...others);
    for (const running of [one, two]) {
      const text = await metric(running);
      expect(text).toContain('trailgate_streams_cut_total{kind="answer",code="revoked_api_key"} 1');
      expect(text).toContain('trailgate_streams_cut_total{kind="websocket",code="revoked_api_key"} 1');
      const isLogged = ({ code, api_key_id }: Record<string, unknown>) =>
        code === 'revoked_api_key' && api_key_id === key.id;
      await eventually('both cuts are logged', () => running.logs().filter(isLogged).length === 2);
    }
  });

  it('are cut when their account is suspended', async () => {
    const all = await openAll();
    await one.admin.updateAccount(account.id, { status: 'suspended' });
    await expectCut(all);
  });

  it('are cut when their key loses the required scope; those that need another scope continue', async () => {
    const all = await openAll();
    const file = await stream(two, key.secret, '/files/a');
    await one.admin.updateKey(key.id, { scopes: ['files:read'] });
    await expectCut(all);
    await expectFlowing(file);
    await one.admin.updateKey(key.id, { scopes: ['customers:write'] });
    await expectCut([file]);
  });

  it('are cut when the client address is removed from the allowed addresses', async () => {
    const all = await openAll();
    await one.admin.updateKey(key.id, { allowed_ips: ['127.0.0.0/8'] });
    await expectFlowing(...all);
    await one.admin.updateKey(key.id, { allowed_ips: ['192.0.2.1'] });
    await expectCut(all);
  });

  it('continue during the overlap of a rotation, and are cut by a rotation without overlap', async () => {
    const all = await openAll();
    const rotated = await one.admin.rotateKey(key.id, 3_600);
    await expectFlowing(...all);
    const next = await stream(two, rotated.secret);
    await one.admin.rotateKey(key.id);
    await expectCut([next]);
  });

  it('continue when their key is renamed or their account changes its plan', async () => {
    const all = await openAll();
    await one.admin.updateKey(key.id, { name: 'Another name' });
    await one.admin.updateAccount(account.id, { plan: 'pro' });
    await sleep(SOON_MS);
    await expectFlowing(...all);
  });

  it('do not start for a key that was revoked before the response: the request gets 401', async () => {
    ({ key } = await one.admin.newKey('unlimited', { scopes: ['customers:read'] }));
    const answers = [one, two].map((running) =>
      send(`${running.gatewayUrl}/api/v1/customers/late`, { headers: { authorization: `Bearer ${key.secret}` } }),
    );
    await sleep(200);
    await one.admin.revokeKey(key.id);
    for (const answer of await Promise.all(answers)) {
      expect(answer.status).toBe(401);
      expect(answer.json()).toMatchObject({ code: 'revoked_api_key' });
    }
  });

  it('are cut without a close frame if a WebSocket is in the middle of a frame', async () => {
    ({ key } = await one.admin.newKey('unlimited', { scopes: ['customers:read'] }));
    const live = await webSocket(two, key.secret, '/live/half');
    await sleep(100);
    await one.admin.revokeKey(key.id);
    await eventually('the stream is cut', () => live.ended() !== undefined, SOON_MS);
    expect(live.ended()).toMatchObject({ clean: false, code: 1006 });
  });

  it('are cut by the next sweep after an expiry, or after a revocation that no message announced', async () => {
    expect(unheard.slice(2).map((live) => live.ended())).toEqual([undefined, undefined]);
    await redis.kill9();
    await one.admin.revokeKey(lasting.id);
    clock.runAhead(SILENT_MS);
    await eventually('all streams are cut', () => unheard.every((live) => live.ended() !== undefined), SWEPT_MS);
    await redis.restart();
  });
});

describeWithOpenssl('over HTTP/2', () => {
  it('the stream of a revoked key is reset, and other streams of the connection continue', async () => {
    const backend = await new TickingBackend().listen();
    const files = makeCertificate(temporaryFolder('live-http2'));
    const tls = { cert: files.cert, key: files.key };
    const trailgate = await startTrailgate({ backend: backend.url, config: { gateway: { tls } } });
    const session = connect(trailgate.gatewayUrl, { ca: readFileSync(files.cert) });
    try {
      const keys = [(await trailgate.admin.newKey()).key, (await trailgate.admin.newKey()).key];
      const counts = [0, 0];
      const streams = keys.map(({ secret }, index) => {
        const request = session.request({ ':path': '/api/v1/customers', authorization: `Bearer ${secret}` });
        request.on('data', () => (counts[index] = (counts[index] ?? 0) + 1));
        request.on('error', () => undefined);
        return request;
      });
      await eventually('both streams receive data', () => counts.every((count) => count > 1));
      await trailgate.admin.revokeKey(keys[0]?.id ?? '');
      await eventually('the stream is reset', () => streams[0]?.closed === true, SOON_MS);
      expect(streams[0]?.rstCode).not.toBe(0);
      const before = counts[1] ?? 0;
      await eventually('the other stream receives data', () => (counts[1] ?? 0) > before + 2);
      expect([streams[1]?.closed, session.destroyed]).toEqual([false, false]);
    } finally {
      session.destroy();
      await trailgate.stop();
      backend.stop();
    }
  });
});
