/** The gateway does not wait for bytes that cannot become HTTP, or reuse a connection after an ambiguous response. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Agent } from 'node:http';
import { startRawBackend, type RawBackend } from '../support/backend.js';
import { quietMsSince } from '../support/machine-time.js';
import { expectProblem } from '../support/problem.js';
import { sleep } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

const FIRST_BYTE_MS = 5_000;
const IDLE_MS = 1_000;

let backend: RawBackend;
let gateway: Proxied;
let pieces: readonly string[] = [];

beforeAll(async () => {
  backend = await startRawBackend((socket) => {
    socket.on('data', async () => {
      for (const piece of pieces) {
        socket.write(piece, 'latin1');
        await sleep(20);
      }
    });
  });
  gateway = await startProxied({
    targets: backend.url,
    config: {
      services: {
        backend: { timeouts: { firstByte: `${FIRST_BYTE_MS}ms`, idle: `${IDLE_MS}ms` }, retries: { most: 0 } },
      },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

it.each([
  ['another protocol', ['SSH-2.0-OpenSSH_9.2\r\n']],
  ['another protocol, byte by byte', ['S', 'S', 'H']],
  ['an alert of TLS', ['\x15\x03\x03\x00\x02\x02\x46']],
  ['HTTP/2', ['\0\0\x12\x04\0\0\0\0\0']],
  ['HTTP/0.9', ['<!doctype html><p>Hello']],
  ['lines that end with LF', ['HTTP/1.1 200 OK\nContent-Length: 2\n\nok']],
  ['a line that ends with LF, in two pieces', ['HTTP/1.1 200 OK\r\nX-A: b', '\nContent-Length: 2\r\n']],
  ['garbage behind a hint', ['HTTP/1.1 103 Early Hints\r\n\r\n', 'garbage']],
])('%s is a 502 at once, although the connection stays open', async (_what, bytes) => {
  pieces = bytes;
  const begun = performance.now();
  const answer = await gateway.send('/open', { method: 'GET' });
  expectProblem(answer, 'backend_bad_response');
  expect(quietMsSince(begun)).toBeLessThan(FIRST_BYTE_MS / 2);
});

it('a response head is parsed however it is split', async () => {
  const head = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  for (const at of [1, 5, 7, 8, 15, 16, 25, 26, 27, 28, 40, 42, 43, 44, head.length - 4, head.length - 3]) {
    pieces = [head.slice(0, at), head.slice(at)];
    expect((await gateway.send('/open')).text).toBe('ok');
  }
});

it('an error body that trickles in gets one idle timeout in total, not one for every piece', async () => {
  pieces = ['HTTP/1.1 404 Not Found\r\nContent-Length: 2000\r\n\r\n', ...Array.from({ length: 300 }, () => 'x')];
  const begun = performance.now();
  const answer = await gateway.send('/open');
  expect(answer.status).toBeGreaterThanOrEqual(404);
  expect(quietMsSince(begun)).toBeLessThan(IDLE_MS + 1_000);
});

it('a backend connection is not reused after a 204 with a Content-Length', async () => {
  pieces = ['HTTP/1.1 204 No Content\r\nContent-Length: 46\r\n\r\n'];
  const ask = async (): Promise<void> => {
    const { status, headers } = await gateway.send('/open');
    // RFC 9110 section 8.6: a 204 has no Content-Length.
    expect([status, headers['content-length']]).toEqual([204, undefined]);
  };
  // Uses the connections that earlier responses left open.
  await ask();
  const before = backend.connections;
  for (const time of [1, 2, 3]) {
    await ask();
    expect(backend.connections).toBe(before + time);
  }
});

it('Content-Length and Cache-Control are kept even if the Connection header lists them', async () => {
  pieces = [
    'HTTP/1.1 200 OK\r\nConnection: close, Content-Length, cache-control\r\n',
    'Content-Length: 2\r\nCache-Control: no-store\r\n\r\nok',
  ];
  // Sends both requests on one connection. A client that cannot find the end of the first response would wait.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (const path of ['/open?1', '/open?2']) {
    const answer = await gateway.send(path, { agent, timeoutMs: 2_000 });
    expect([answer.status, answer.text]).toEqual([200, 'ok']);
    expect(answer.headers).toMatchObject({ 'content-length': '2', 'cache-control': 'no-store' });
  }
  agent.destroy();
});
