/** Request log entries of unusual requests: bytes in and out, statuses, disconnects, streams. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openRequest, send, type Answer } from '../support/http.js';
import { eventually } from '../support/processes.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const LARGE = 300_000;

/** Starts a backend whose behavior depends on the last segment of the path. */
function startServer(): Server {
  const server = createServer((request, response) => {
    const what = request.url?.split('/').at(-1) ?? '';
    if (what === 'hang') return;
    let received = 0;
    request.on('data', (piece: Buffer) => (received += piece.length));
    request.on('end', () => {
      if (what === 'large') response.end(Buffer.alloc(LARGE, 'x'));
      else if (what === 'chunks') {
        response.write('one');
        setTimeout(() => response.end('three'), 50);
      } else if (what === 'fail') response.writeHead(500).end('{"message":"no"}');
      else response.end(`took ${received}`);
    });
  });
  server.on('upgrade', (request, socket) => {
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.on('error', () => undefined);
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.pipe(socket);
  });
  return server;
}

describe('the request log', () => {
  let server: Server;
  let trailgate: SharedTrailgate;
  let account: string;
  let secret: string;
  beforeAll(async () => {
    server = startServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    trailgate = await acquireTrailgate({
      backend: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      config: {
        usage: { flushInterval: '100ms' },
        plans: { minute: { key: { minute: 1 } } },
        operations: [{ match: 'GET /live', id: 'getLive', service: 'backend', scopes: [], websocket: true }],
      },
    });
    const made = await trailgate.admin.newKey();
    account = made.account.id;
    secret = made.key.secret;
  });
  afterAll(async () => {
    await trailgate?.stop();
    server.closeAllConnections();
    server.close();
  });

  const headers = () => ({ Authorization: `Bearer ${secret}` });
  const url = (path: string) => `${trailgate.gatewayUrl}/api/v1${path}`;
  const rowOf = async (requestId: string, of = account): Promise<Record<string, unknown>> => {
    let row: Record<string, unknown> = {};
    await eventually('the request is in the log', async () => {
      const answer = await trailgate.admin.request('GET', `/accounts/${of}/requests/${requestId}`);
      row = answer.json<Record<string, unknown>>();
      return answer.status === 200;
    });
    return row;
  };
  const idOf = (answer: Answer) => String(answer.headers['x-request-id']);

  it.each([
    ['a response that is streamed because it is large', 'GET', 'large', LARGE],
    ['a response in pieces', 'GET', 'chunks', 8],
    ['a HEAD, which has no body', 'HEAD', 'large', 0],
  ])('records the bytes written for %s', async (_what, method, what, bytes) => {
    const answer = await send(url(`/files/${what}`), { method, headers: headers() });
    expect(await rowOf(idOf(answer))).toMatchObject({ status: 200, bytes_in: 0, bytes_out: bytes, method });
  });

  it('records the bytes read of an upload', async () => {
    const upload = openRequest(url('/files/a'), {
      method: 'PUT',
      headers: { ...headers(), 'X-Request-Id': 'upload-1' },
    });
    upload.on('error', () => undefined);
    for (let piece = 0; piece < 10; piece++) upload.write(Buffer.alloc(LARGE / 10, 'y'));
    upload.end();
    const [response] = (await once(upload, 'response')) as [NodeJS.ReadableStream];
    response.resume();
    await once(response, 'end');
    expect(await rowOf('upload-1')).toMatchObject({ status: 200, bytes_in: LARGE, operation: 'uploadFile' });
  });

  it('records status and code of a backend error, and the bytes of the response that was sent', async () => {
    const answer = await send(url('/files/fail'), { headers: headers() });
    expect(answer.status).toBe(500);
    const { code } = answer.json<{ code: string }>();
    expect(await rowOf(idOf(answer))).toMatchObject({ status: 500, code, bytes_out: answer.body.length });
  });

  it('records a client that disconnected as 499', async () => {
    const leaving = openRequest(url('/files/hang'), { headers: { ...headers(), 'X-Request-Id': 'left-1' } });
    leaving.on('error', () => undefined).end();
    await sleep(200);
    leaving.destroy();
    expect(await rowOf('left-1')).toMatchObject({ status: 499, operation: 'downloadFile' });
    const { data } = await trailgate.admin.call<{ data: object[] }>('GET', `/accounts/${account}/requests?status=499`);
    expect(data.length).toBe(1);
  });

  it('records a request that a limit refused', async () => {
    const limited = await trailgate.admin.newKey('minute');
    const ask = () => send(url('/open'), { headers: { Authorization: `Bearer ${limited.key.secret}` } });
    await ask();
    const refused = await ask();
    expect(refused.status).toBe(429);
    expect(await rowOf(idOf(refused), limited.account.id)).toMatchObject({
      status: 429,
      code: 'rate_limited',
      explanation: { answer: { admitted: false } },
    });
  });

  it('records what the gateway answers itself, without an operation', async () => {
    const answer = await send(url('/usage'), { headers: headers() });
    expect(await rowOf(idOf(answer))).toMatchObject({
      status: 200,
      operation: null,
      route: null,
      explanation: null,
      bytes_out: answer.body.length,
    });
  });

  it('records a WebSocket after it has ended, with the bytes of both directions', async () => {
    const { port } = new URL(trailgate.gatewayUrl);
    const socket = connect(Number(port), '127.0.0.1');
    const key = randomBytes(16).toString('base64');
    socket.write(
      `GET /api/v1/live HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Request-Id: socket-1\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\nAuthorization: Bearer ${secret}\r\n\r\n`,
    );
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(head.toString()).toMatch(/^HTTP\/1\.1 101 /);
    // Sends an empty, masked text frame.
    for (let frame = 0; frame < 10; frame++) socket.write(Buffer.from([0x81, 0x80, 0, 0, 0, 0]));
    await once(socket, 'data');
    await sleep(200);
    socket.destroy();
    const row = await rowOf('socket-1');
    expect(row).toMatchObject({ status: 101, operation: 'getLive', bytes_in: 60 });
    expect(row['bytes_out']).toBeGreaterThanOrEqual(60);
  });
});
