/** Responses to outbound requests: a status and the start of a body, in limited time and memory. */
import { once } from 'node:events';
import { createServer as createHttpServer, setGlobalProxyFromEnv, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, describe, expect, it } from '@jest/globals';
import { hasOpenssl, localCertificate } from '../../../test/support/certificates.js';
import { eventually } from '../../../test/support/processes.js';
import { outboundRules, parseDestination } from './destination.js';
import { sendGuarded, type GuardedResponse, type GuardedSendOptions } from './guarded-request.js';

const rules = outboundRules({ allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'] });
/** Deadline for requests that must not time out, even on a busy machine. */
const PATIENCE_MS = 30_000;
const servers: Server[] = [];

afterAll(() => {
  for (const server of servers) server.close();
});

async function listen(server: Server): Promise<number> {
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A receiver that responds with `respond` once the request has arrived. */
function receiver(respond: (socket: Socket) => void): Promise<number> {
  return listen(
    createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => respond(socket));
    }),
  );
}

function send(
  port: number,
  timeoutMs = PATIENCE_MS,
  more: Partial<GuardedSendOptions> = {},
  scheme = 'http',
): Promise<GuardedResponse> {
  const destination = parseDestination(`${scheme}://localhost:${port}/hook?a=b`, rules);
  const body = Buffer.from('{"type":"customer.created"}');
  const headers = { 'content-type': 'application/json' };
  const resolve = () => Promise.resolve(['127.0.0.1']);
  return sendGuarded(
    { destination, method: 'POST', headers, body, timeoutMs, keepBytes: 1_024 },
    { rules, resolve, connectTimeoutMs: PATIENCE_MS, ...more },
  );
}

const OK = 'HTTP/1.1 200 OK\r\n';

describe('a request', () => {
  it('is sent unchanged to the host of the URL, on a connection of its own', async () => {
    const requests: { readonly message: IncomingMessage; readonly body: string }[] = [];
    const port = await listen(
      createHttpServer((message, response) => {
        message.setEncoding('utf8').on('data', (body: string) => requests.push({ message, body }));
        response.setHeader('webhook-delivery', 'abort-message').writeHead(202).end('thanks');
      }),
    );
    const { statusCode, headers, body, address } = await send(port);
    expect([statusCode, headers['webhook-delivery'], body.toString(), address]).toEqual([
      202,
      'abort-message',
      'thanks',
      '127.0.0.1',
    ]);
    expect(requests.map(({ message, body: sent }) => [message.method, message.url, sent, message.headers])).toEqual([
      [
        'POST',
        '/hook?a=b',
        '{"type":"customer.created"}',
        {
          'content-type': 'application/json',
          host: `localhost:${port}`,
          'content-length': '27',
          connection: 'close',
        },
      ],
    ]);
  });

  it('follows no redirect', async () => {
    let followed = 0;
    const target = await receiver(() => (followed += 1));
    const port = await receiver((socket) =>
      socket.end(
        `HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:${target}/\r\nContent-Length: 0\r\n\r\n`,
      ),
    );
    expect((await send(port)).statusCode).toBe(307);
    expect(followed).toBe(0);
  });

  it('uses no proxy, whatever the environment says', async () => {
    let proxied = 0;
    const proxy = await receiver((socket) => {
      proxied += 1;
      socket.end(`${OK}Content-Length: 0\r\n\r\n`);
    });
    const restore = setGlobalProxyFromEnv({
      http_proxy: `http://127.0.0.1:${proxy}`,
      https_proxy: `http://127.0.0.1:${proxy}`,
    });
    try {
      const port = await receiver((socket) => socket.end(`${OK}Content-Length: 2\r\n\r\nok`));
      expect((await send(port)).body.toString()).toBe('ok');
    } finally {
      restore();
    }
    expect(proxied).toBe(0);
  });
});

(hasOpenssl ? describe : describe.skip)('a request over TLS', () => {
  it('is sent in the same way as in plain', async () => {
    const { cert, key } = localCertificate();
    const server = createHttpsServer({ cert, key }, (message, response) => {
      message.resume().on('end', () => response.end(`${message.method} ${message.headers.host}`));
    });
    const port = await listen(server);
    const { statusCode, body } = await send(port, PATIENCE_MS, { tls: { ca: cert } }, 'https');
    expect([statusCode, body.toString()]).toEqual([200, `POST localhost:${port}`]);
    await expect(send(port, PATIENCE_MS, {}, 'https')).rejects.toMatchObject({ reason: 'tls_failed' });
  });
});

describe('a body', () => {
  it('without an end is read only up to the limit', async () => {
    const ended = Promise.withResolvers<number>();
    const piece = Buffer.alloc(64 * 1024, 'x');
    const port = await receiver((socket) => {
      let sentBytes = 0;
      const more = (): void => {
        while (!socket.destroyed && socket.write(piece)) sentBytes += piece.length;
      };
      socket.write(`${OK}Content-Length: 10737418240\r\n\r\n`);
      socket.on('drain', more).on('close', () => ended.resolve(sentBytes));
      more();
    });
    const { statusCode, body } = await send(port);
    expect([statusCode, body.length]).toEqual([200, 1_024]);
    // The kernel buffers on both sides are larger than what was read.
    expect(await ended.promise).toBeLessThan(32 * 1024 * 1024);
  });

  it('that arrives byte by byte is awaited for a limited time, and the status counts', async () => {
    const port = await receiver((socket) => {
      socket.write(`${OK}Content-Length: 100\r\n\r\na`);
      const timer = setInterval(() => socket.write('b'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    const { statusCode, body } = await send(port, PATIENCE_MS, { bodyTimeoutMs: 100 });
    expect(statusCode).toBe(200);
    expect(body.toString()).toMatch(/^ab*$/);
  });

  it('that is cut off does not change the status', async () => {
    const port = await receiver((socket) => socket.end(`${OK}Content-Length: 100\r\n\r\nthe beginning`));
    const { statusCode, body } = await send(port);
    expect([statusCode, body.toString()]).toEqual([200, 'the beginning']);
  });

  it('is kept as received, without decoding', async () => {
    const port = await receiver((socket) =>
      socket.end(`${OK}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\0\u0001é`, 'latin1'),
    );
    expect((await send(port)).body).toEqual(Buffer.from('\0\u0001é', 'latin1'));
  });
});

describe('a receiver', () => {
  it.each([
    ['no head in time', () => {}, 'response_timeout'],
    [
      'a head that comes a byte at a time',
      (socket: Socket) => {
        const timer = setInterval(() => socket.write('H'), 50);
        socket.on('close', () => clearInterval(timer));
      },
      'malformed_response',
    ],
    [
      'fields without an end, slowly',
      (socket: Socket) => {
        socket.write(OK);
        const timer = setInterval(() => socket.write('x: y\r\n'), 20);
        socket.on('close', () => clearInterval(timer));
      },
      'response_timeout',
    ],
    [
      'a head of 1 MB',
      (socket: Socket) => socket.write(`${OK}x: ${'y'.repeat(1024 * 1024)}\r\n\r\n`),
      'head_too_large',
    ],
    ['something else than HTTP', (socket: Socket) => socket.write('SSH-2.0-OpenSSH_9\r\n\r\n'), 'malformed_response'],
    [
      'two lengths',
      (socket: Socket) => socket.write(`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`),
      'malformed_response',
    ],
    [
      'a length and chunks',
      (socket: Socket) => socket.write(`${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
      'malformed_response',
    ],
    [
      'another protocol',
      (socket: Socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
      'malformed_response',
    ],
    [
      'interim responses only',
      (socket: Socket) => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100)),
      'malformed_response',
    ],
    ['nothing, and closes', (socket: Socket) => socket.end(), 'connection_closed'],
    ['a reset', (socket: Socket) => socket.resetAndDestroy(), 'connection_closed'],
    ['half a head', (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nConte'), 'connection_closed'],
  ])('that sends %s fails the attempt', async (_what, respond, reason) => {
    const port = await receiver(respond);
    const timeoutMs = reason === 'response_timeout' ? 100 : PATIENCE_MS;
    await expect(send(port, timeoutMs)).rejects.toMatchObject({ name: 'OutboundFailed', reason });
  });

  it('reports an unresolved name or a response timeout if its name or connection is not ready in time', async () => {
    const never = () => new Promise<never>(() => {});
    await expect(send(8443, 100, { resolve: never })).rejects.toMatchObject({ reason: 'name_unresolved' });
    const port = await receiver(() => {});
    await expect(send(port, 100, {}, 'https')).rejects.toMatchObject({ reason: 'response_timeout' });
  });

  it('has no open connection afterwards, however the attempt ends', async () => {
    const open = new Set<Socket>();
    const port = await listen(
      createServer((socket) => {
        open.add(socket);
        socket.on('error', () => {}).on('close', () => open.delete(socket));
        socket.once('data', () => open.size % 2 === 0 && socket.write(`${OK}Content-Length: 5\r\n\r\n`));
      }),
    );
    await Promise.allSettled(Array.from({ length: 20 }, () => send(port, 100)));
    await eventually('they are closed', () => open.size === 0);
  });
});
