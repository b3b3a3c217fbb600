/**
 * WebSockets get the same checks as every request before they open. Bytes pass unchanged, and connections end cleanly.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { seriesOf } from '../support/metrics-text.js';
import { expectProblem, parseAnswer } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import type { RunningTrailgate } from '../support/program.js';
import { acquireTrailgate } from '../support/shared-program.js';

const KEY = randomBytes(16).toString('base64');
const ACCEPT = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

/** Backend that accepts every handshake on /live and echoes what it receives. */
class EchoBackend {
  readonly handshakes: IncomingMessage[] = [];
  readonly sockets: Socket[] = [];
  plainRequests = 0;
  private readonly server: Server;

  constructor() {
    this.server = createServer((request, response) => {
      this.plainRequests += 1;
      if (request.url?.includes('hold') === true) {
        response.write('held');
        return;
      }
      response.writeHead(426, { 'Content-Type': 'application/json' }).end('{"message":"Upgrade to websocket"}');
    });
    this.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      this.handshakes.push(request);
      if (request.url?.includes('refuse') === true) {
        const body = '{"message":"Not on Sundays","code":"closed"}';
        socket.end(
          `HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        );
        return;
      }
      if (request.url?.includes('version') === true) {
        socket.end(
          'HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13, 8\r\n\r\n',
        );
        return;
      }
      if (request.url?.includes('trickle') === true) {
        socket.write('HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n');
        const timer = setInterval(() => socket.write(' '), 50);
        socket.on('error', () => undefined).on('close', () => clearInterval(timer));
        return;
      }
      if (request.url?.includes('silent') === true) return;
      if (request.url?.includes('reset') === true) {
        socket.destroy();
        return;
      }
      this.sockets.push(socket);
      socket.on('error', () => undefined);
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 0\r\n' +
          `Sec-WebSocket-Accept: ${ACCEPT}\r\nSec-WebSocket-Protocol: echo\r\nX-RateLimit-Limit: 1\r\nX-Backend: yes\r\n\r\n` +
          (request.url?.includes('greet') === true ? 'welcome' : ''),
      );
      socket.write(head);
      socket.pipe(socket);
    });
  }

  async listen(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** Client side of a connection after an upgrade, or after a response that refused it. */
interface Opened {
  readonly socket: Socket;
  readonly head: string;
  /** Returns the bytes after the head. */
  received(): Buffer;
  readonly ended: Promise<unknown>;
}

describe('a WebSocket through the gateway', () => {
  let backend: EchoBackend;
  let trailgate: RunningTrailgate;
  let secret: string;

  const open = async (path: string, fields: readonly string[] = [], behind = ''): Promise<Opened> => {
    const socket = connect(Number(new URL(trailgate.gatewayUrl).port), '127.0.0.1');
    socket.on('error', () => undefined);
    const ended = once(socket, 'close');
    let bytes = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => (bytes = Buffer.concat([bytes, chunk])));
    socket.write(
      [
        `GET /api/v1${path} HTTP/1.1`,
        'Host: api.example.com',
        'Connection: keep-alive, Upgrade',
        'Upgrade: WebSocket',
        `Sec-WebSocket-Key: ${KEY}`,
        'Sec-WebSocket-Version: 13',
        ...fields,
        '',
        behind,
      ].join('\r\n'),
    );
    const headEnd = (): number => bytes.indexOf('\r\n\r\n');
    await eventually('the response head arrives', () => headEnd() >= 0);
    await eventually(
      'the handshake succeeds or the body of a refusal arrives',
      () => bytes.toString().startsWith('HTTP/1.1 101') || bytes.length > headEnd() + 4,
    );
    const head = bytes.subarray(0, headEnd()).toString();
    return { socket, head, received: () => bytes.subarray(headEnd() + 4), ended };
  };
  const authorized = (): string => `Authorization: Bearer ${secret}`;
  const counted = async (): Promise<number> =>
    (
      (
        await send(`${trailgate.gatewayUrl}/api/v1/usage`, { headers: { authorization: `Bearer ${secret}` } })
      ).json() as {
        windows: { used: number }[];
      }
    ).windows[0]?.used ?? -1;

  beforeAll(async () => {
    backend = new EchoBackend();
    await backend.listen();
    trailgate = await acquireTrailgate({
      own: true,
      backend: backend.url,
      config: {
        plans: { few: { account: { month: 20 } } },
        services: {
          backend: { timeouts: { connect: '1s', firstByte: '500ms', idle: '1s' } },
          narrow: {
            targets: [backend.url],
            connections: 1,
            accountShare: 1,
            timeouts: { connect: '200ms', firstByte: '300ms' },
          },
        },
        operations: [
          { match: 'GET /live/{room}', service: 'backend', scopes: ['customers:read'], websocket: true },
          { match: 'GET /customers' },
          { match: 'GET /narrow/hold', service: 'narrow', scopes: ['customers:read'] },
          { match: 'GET /narrow/live', service: 'narrow', scopes: ['customers:read'], websocket: true },
        ],
      },
    });
    ({ secret } = (await trailgate.admin.newKey('few', { scopes: ['customers:read'] })).key);
  });
  afterAll(async () => {
    await trailgate?.stop();
    backend?.close();
  });

  it('forwards bytes unchanged in both directions, from the handshake on and beyond any timeout', async () => {
    const before = await counted();
    const { socket, head, received } = await open(
      '/live/kitchen?x=1',
      [authorized(), 'Sec-WebSocket-Protocol: echo'],
      'early',
    );
    expect(head).toMatch(/^HTTP\/1\.1 101 /);
    expect(head).toContain(`Sec-WebSocket-Accept: ${ACCEPT}`);
    expect(head).toContain('Sec-WebSocket-Protocol: echo');
    expect(head.match(/x-backend: yes|content-length/gi)).toEqual(['X-Backend: yes']);
    expect(head).toMatch(/RateLimit: "account-month";r=\d+;t=\d+/);
    expect(head).toMatch(/X-Request-Id: req_/);
    expect(head).toContain('X-RateLimit-Limit: 20');
    expect(head.match(/x-ratelimit-limit/gi)).toHaveLength(1);
    await eventually('the early bytes arrive', () => received().toString() === 'early');

    const bytes = randomBytes(2 * 1024 * 1024);
    socket.write(bytes);
    await eventually('all bytes arrive', () => received().length === bytes.length + 5);
    expect(received().subarray(5).equals(bytes)).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    socket.write('late');
    await eventually('the late bytes arrive', () => received().subarray(-4).toString() === 'late');

    const handshake = backend.handshakes.at(-1);
    expect(handshake?.url).toBe('/live/kitchen?x=1');
    expect(handshake?.headers).toMatchObject({
      'sec-websocket-key': KEY,
      'x-account-id': expect.stringMatching(/^acc_/),
      'x-forwarded-host': 'api.example.com',
    });
    expect(handshake?.headers.authorization).toBeUndefined();
    socket.end();
    await eventually('the backend connection is closed', () => backend.sockets.at(-1)?.destroyed === true);
    expect(await counted()).toBe(before + 1);
    const isLogged = ({ path, status, quota }: Record<string, unknown>): boolean =>
      path === '/api/v1/live/kitchen' && status === 101 && quota === 'admitted';
    await eventually('the request is logged', () => trailgate.logs().some(isLogged));
  });

  it('forwards bytes that the backend sends together with its 101', async () => {
    const { received, socket } = await open('/live/greet', [authorized()]);
    await eventually('the greeting arrives', () => received().toString() === 'welcome');
    socket.destroy();
  });

  it('gets a problem response without a key or scope, and does not reach the backend', async () => {
    const { key } = await trailgate.admin.newKey('few', { scopes: ['files:read'] });
    const before = backend.handshakes.length;
    for (const [path, fields, status, code] of [
      ['/live/a', [], 401, 'missing_api_key'],
      ['/live/a', [`Authorization: Bearer ${key.secret}`], 403, 'insufficient_scope'],
    ] as const) {
      const { head, received, ended } = await open(path, fields);
      expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(head).toContain('Content-Type: application/problem+json');
      expect(JSON.parse(received().toString())).toMatchObject({ status, code });
      await ended;
    }
    expect(backend.handshakes.length).toBe(before);
  });

  it('gets 404 on a path without an operation, and does not reach the backend', async () => {
    const [plain, handshakes, before] = [backend.plainRequests, backend.handshakes.length, await counted()];
    for (const path of ['/nowhere', '/live', '/live/a/b', '/LIVE/a']) {
      const { head, received, ended } = await open(path, [authorized(), 'Connection: close']);
      await ended;
      const answer = parseAnswer(`${head}\r\n\r\n${received().toString('latin1')}`);
      expectProblem(answer, 'route_not_found');
      expect(answer.headers).not.toHaveProperty('upgrade');
      expect(answer.headers).not.toHaveProperty('sec-websocket-accept');
    }
    expect([backend.plainRequests, backend.handshakes.length]).toEqual([plain, handshakes]);
    expect(await counted()).toBe(before);
  });

  // The client may retry with a version that the refusal names (RFC 6455 section 4.4).
  it('forwards the protocol and versions that a 426 of the backend names', async () => {
    const { head, ended } = await open('/live/version', [authorized()]);
    expect(head).toMatch(/^HTTP\/1\.1 426 /);
    expect(head).toMatch(/\r\nUpgrade: websocket\r\n/i);
    expect(head).toMatch(/\r\nConnection: Upgrade\r\n/i);
    expect(head).toMatch(/\r\nSec-WebSocket-Version: 13, 8\r\n/i);
    await ended;
  });

  it('maps a refusal of the backend, and gets the cost back if the backend dies or is silent', async () => {
    const refused = await open('/live/refuse', [authorized()]);
    expect(refused.head).toMatch(/^HTTP\/1\.1 409 /);
    expect(JSON.parse(refused.received().toString())).toMatchObject({
      code: 'conflict',
      detail: 'Not on Sundays',
      reason: 'closed',
    });
    const before = await counted();
    for (const [room, status] of [
      ['reset', 502],
      ['silent', 504],
    ] as const) {
      const { head, received } = await open(`/live/${room}`, [authorized()]);
      expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(JSON.parse(received().toString())).toMatchObject({ status });
    }
    await eventually('both costs are refunded', async () => (await counted()) === before);
  });

  it('gets 504 after the idle timeout if a refusal of the backend does not end', async () => {
    const ended = (outcome: string) =>
      `trailgate_upstream_target_calls_total{service="backend",target="${backend.url}",outcome="${outcome}",status=""}`;
    const counts = async (): Promise<(number | undefined)[]> => {
      const series = seriesOf((await send(`${trailgate.adminUrl}/metrics`)).text);
      return ['idle_timeout', 'first_byte_timeout'].map((outcome) => series.get(ended(outcome)));
    };
    const [idle = NaN, firstByte] = await counts();
    const { head, received } = await open('/live/trickle', [authorized()]);
    expect(head).toMatch(/^HTTP\/1\.1 504 /);
    expect(JSON.parse(received().toString())).toMatchObject({ code: 'backend_timeout' });
    expect(await counts()).toEqual([idle + 1, firstByte]);
  });

  it('gets 503 if no backend connection is free in time, and has no backend time in the log', async () => {
    const held = connect(Number(new URL(trailgate.gatewayUrl).port), '127.0.0.1');
    held.write(`GET /api/v1/narrow/hold HTTP/1.1\r\nHost: a\r\n${authorized()}\r\n\r\n`);
    await once(held, 'data');
    const { head } = await open('/narrow/live', [authorized()]);
    held.destroy();
    expect(head).toMatch(/^HTTP\/1\.1 503 /);
    const isLogged = ({ path }: Record<string, unknown>): boolean => path === '/api/v1/narrow/live';
    await eventually('the request is logged', () => trailgate.logs().some(isLogged));
    const line = trailgate.logs().find(isLogged);
    expect(line).toMatchObject({ status: 503, code: 'backend_unavailable' });
    expect(line).not.toHaveProperty('upstream_ms');
  });

  it('is a plain request if the operation is no WebSocket, or the upgrade is to another protocol', async () => {
    const plain = backend.plainRequests;
    const { head } = await open('/customers', [authorized()]);
    expect(head).toMatch(/^HTTP\/1\.1 4/);
    expect(backend.plainRequests).toBe(plain + 1);
    const answer = await send(`${trailgate.gatewayUrl}/api/v1/live/a`, {
      headers: { authorization: `Bearer ${secret}`, connection: 'Upgrade', upgrade: 'h2c' },
    });
    expect(answer.status).toBe(426);
  });

  it('is a plain request if the handshake has a body, which a backend might read as frames', async () => {
    const [plain, handshakes] = [backend.plainRequests, backend.handshakes.length];
    for (const fields of [['Content-Length: 5'], ['Transfer-Encoding: chunked']]) {
      const { head } = await open(
        '/live/a',
        [authorized(), ...fields],
        fields[0] === 'Content-Length: 5' ? 'hello' : '0\r\n\r\n',
      );
      expect(head).toMatch(/^HTTP\/1\.1 426 /);
    }
    expect([backend.plainRequests, backend.handshakes.length]).toEqual([plain + 2, handshakes]);
  });

  it('counts as a request, and gets 429 when the month is used up', async () => {
    while ((await counted()) < 20) await open('/live/refuse', [authorized()]);
    const { head, received } = await open('/live/a', [authorized()]);
    expect(head).toMatch(/^HTTP\/1\.1 429 /);
    expect(JSON.parse(received().toString())).toMatchObject({ code: 'quota_exceeded' });
  });

  it('ends with a close frame when the program stops, and does not delay that', async () => {
    const { key } = await trailgate.admin.newKey('few', { scopes: ['*'] });
    const { head, ended, received } = await open('/live/a', [`Authorization: Bearer ${key.secret}`]);
    expect(head).toMatch(/^HTTP\/1\.1 101 /);
    const begun = performance.now();
    const stopped = trailgate.stop();
    await ended;
    // Close frame with the code for "going away" (RFC 6455 section 7.4.1).
    expect([...received().subarray(0, 1), received().readUInt16BE(2)]).toEqual([0x88, 1001]);
    expect((await stopped).code).toBe(0);
    expect(quietMsSince(begun)).toBeLessThan(5_000);
  });
});
