/** Kept connections: each is reused only for its destination and under the rules that it was opened with. */
import { once } from 'node:events';
import { createServer as createHttpServer, setGlobalProxyFromEnv } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/processes.js';
import { outboundRules, parseDestination, type OutboundRules } from './destination.js';
import { GuardedConnections } from './guarded-agent.js';
import { sendGuarded, type GuardedResponse } from './guarded-request.js';

const rulesOf = (...allowPrivateNetworks: string[]) => outboundRules({ allowHttp: true, allowPrivateNetworks });
const rules = rulesOf('127.0.0.1/32');
/** Deadline for requests that must not time out, even on a busy machine. */
const PATIENCE_MS = 30_000;
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const servers: Server[] = [];
const sockets = new Set<Socket>();

async function listen(server: Server): Promise<number> {
  servers.push(server.listen(0, '127.0.0.1'));
  server.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A receiver that counts connections and responds to each request with `respond`. */
async function receiver(respond: (socket: Socket, request: number) => void = (socket) => socket.write(OK)) {
  const seen = { connections: 0, requests: 0, open: 0 };
  const port = await listen(
    createServer((socket) => {
      seen.connections += 1;
      seen.open += 1;
      socket.on('data', () => respond(socket, ++seen.requests)).on('close', () => (seen.open -= 1));
    }),
  );
  return { port, seen };
}

let addresses = ['127.0.0.1'];
let connections = open();

function open(lifeMs?: number): GuardedConnections {
  return new GuardedConnections({ resolve: () => Promise.resolve(addresses), connectTimeoutMs: 1_000 }, lifeMs);
}

function send(
  port: number,
  by: OutboundRules = rules,
  host = 'hooks.example.net',
  bytes = 2,
  timeoutMs = PATIENCE_MS,
): Promise<GuardedResponse> {
  return sendGuarded(
    {
      destination: parseDestination(`http://${host}:${port}/hook`, by),
      method: 'POST',
      headers: {},
      body: Buffer.alloc(bytes, 'x'),
      timeoutMs,
      keepBytes: 100,
    },
    { ...connections.options, rules: by, connections, bodyTimeoutMs: 100 },
  );
}

afterEach(() => {
  connections.close();
  connections = open();
  addresses = ['127.0.0.1'];
});

afterAll(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
});

describe('a kept connection', () => {
  it('does not accumulate listeners', async () => {
    const { port, seen } = await receiver();
    const listeners = () => {
      const [socket] = Object.values(connections.agentFor(rules).freeSockets).flat();
      return socket?.listenerCount('close');
    };
    await send(port);
    await eventually('it is idle', () => listeners() !== undefined);
    const first = listeners();
    for (let request = 1; request < 100; request++) await send(port);
    await eventually('it is idle again', () => listeners() === first);
    expect(seen).toMatchObject({ connections: 1, requests: 100 });
  });

  it('serves the next requests to the same destination', async () => {
    const { port, seen } = await receiver();
    for (let request = 0; request < 5; request++) {
      expect((await send(port)).body.toString()).toBe('ok');
    }
    expect(seen).toMatchObject({ connections: 1, requests: 5 });
  });

  it('serves no other name, even if both have the same address', async () => {
    const { port, seen } = await receiver();
    await send(port, rules, 'one.example.net');
    await send(port, rules, 'two.example.net');
    expect(seen.connections).toBe(2);
  });

  it('serves no request under other rules', async () => {
    const { port, seen } = await receiver();
    await send(port);
    await expect(send(port, rulesOf('127.0.0.2/32'))).rejects.toMatchObject({ reason: 'loopback' });
    expect(seen.requests).toBe(1);
  });

  it('is not reused after its maximum age, so that the name is resolved again', async () => {
    connections = open(-1);
    const { port, seen } = await receiver();
    await send(port);
    addresses = ['10.0.0.1'];
    await expect(send(port)).rejects.toMatchObject({ name: 'OutboundRefused', reason: 'private' });
    expect(seen.requests).toBe(1);
  });

  it('that was closed while idle does not fail the attempt: the request is sent again on a new one', async () => {
    const { port, seen } = await receiver((socket, request) => {
      // Closes as the second request arrives, like a receiver whose idle timeout has just ended.
      if (request === 2) socket.resetAndDestroy();
      else socket.write(OK);
    });
    await send(port);
    expect((await send(port)).statusCode).toBe(200);
    expect(seen).toMatchObject({ connections: 2, requests: 3 });
  });

  it('that the receiver closes on each request fails the attempt, without endless retries', async () => {
    const { port, seen } = await receiver((socket, request) => {
      if (request > 1) socket.resetAndDestroy();
      else socket.write(OK);
    });
    await send(port);
    await expect(send(port)).rejects.toMatchObject({ reason: 'connection_closed' });
    expect(seen.requests).toBe(3);
  });

  it('uses no proxy, whatever the environment says', async () => {
    const proxy = await receiver();
    const restore = setGlobalProxyFromEnv({
      http_proxy: `http://127.0.0.1:${proxy.port}`,
      https_proxy: `http://127.0.0.1:${proxy.port}`,
    });
    try {
      const { port } = await receiver();
      expect((await send(port)).body.toString()).toBe('ok');
      expect((await send(port)).body.toString()).toBe('ok');
    } finally {
      restore();
    }
    expect(proxy.seen.connections).toBe(0);
  });
});

describe('a connection is not kept', () => {
  it.each([
    [
      'has not sent all of its response',
      (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na'),
    ],
    ['says that it closes', (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok')],
    [
      'keeps it for a second only',
      (socket: Socket) => socket.write(OK.replace('\r\n', '\r\nKeep-Alive: timeout=1\r\n')),
    ],
  ])('when the receiver %s', async (_what, respond) => {
    const { port, seen } = await receiver(respond);
    expect((await send(port)).statusCode).toBe(200);
    await eventually('it is closed', () => seen.open === 0);
    await send(port);
    expect(seen.connections).toBe(2);
  });

  it('when the receiver has not read the request', async () => {
    const port = await listen(
      createServer((socket) => {
        socket.pause();
        socket.write(OK);
        socket.once('close', () => (closed += 1));
      }),
    );
    let closed = 0;
    expect((await send(port, rules, 'hooks.example.net', 32 * 1024 * 1024)).statusCode).toBe(200);
    for (const socket of sockets) socket.resume();
    await eventually('it is closed', () => closed === 1);
  });

  it('when it sends unrequested data, which is not taken for the next response', async () => {
    const { port, seen } = await receiver((socket, request) => {
      socket.write(OK);
      if (request === 1) setTimeout(() => socket.write(OK.replace('200 OK', '410 Gone')), 50);
    });
    await send(port);
    await eventually('it is closed', () => seen.open === 0);
    expect((await send(port)).statusCode).toBe(200);
  });
});

describe('idle connections', () => {
  it('are limited to eight per destination', async () => {
    let atOnce = 0;
    const server = createHttpServer((message, response) => {
      atOnce += 1;
      message.resume().on('end', () => setTimeout(() => response.end('ok'), 50));
    });
    const port = await listen(server);
    await Promise.all(Array.from({ length: 12 }, () => send(port)));
    expect(atOnce).toBe(12);
    const openAt = () => [...sockets].filter((socket) => socket.localPort === port && !socket.destroyed).length;
    await eventually('the others are closed', () => openAt() === 8);
  });

  it('are not left behind by a request that times out', async () => {
    const { port, seen } = await receiver((socket, request) => {
      if (request === 1) socket.write(OK);
    });
    await send(port);
    await expect(send(port, rules, 'hooks.example.net', 2, 100)).rejects.toMatchObject({ reason: 'response_timeout' });
    await eventually('it is closed', () => seen.open === 0);
  });
});
