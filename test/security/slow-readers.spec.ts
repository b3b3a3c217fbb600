/** Attack: connections that do not read responses, to fill the memory and keep the backend busy. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { json } from '../support/backend.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually } from '../support/processes.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

const IDLE_MS = 1_000;
/** The idle time, two sweeps and some reserve. */
const LONGEST_MS = IDLE_MS + 6_000;
const CHUNK = Buffer.alloc(64 * 1024);

let gateway: OwnProxied;
let head: string;
const sockets: Socket[] = [];

beforeAll(async () => {
  gateway = await startProxied({
    own: true,
    backendOptions: { atOnce: true },
    config: { services: { backend: { timeouts: { idle: `${IDLE_MS}ms` } } } },
  });
  head = `Host: a\r\nAuthorization: ${gateway.authorization}\r\n`;
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await gateway.stop();
});
beforeEach(() => gateway.answerWith(json({ ok: true })));

const cutCount = async (): Promise<number> =>
  seriesOf((await send(`${gateway.trailgate.adminUrl}/metrics`)).text).get(
    'trailgate_connections_cut_total{reason="slow_reader"}',
  ) ?? 0;

/** Opens a paused connection that sends a request. */
function askWithoutReading(request: string): Socket {
  const socket = connect(gateway.port, '127.0.0.1').on('error', () => {});
  socket.pause();
  sockets.push(socket);
  socket.write(request);
  return socket;
}

/** Returns the number of open connections of the gateway. */
const openConnections = async (): Promise<number> =>
  seriesOf((await send(`${gateway.trailgate.adminUrl}/metrics`)).text).get('trailgate_connections') ?? 0;

const stream = (bytes: number): void =>
  gateway.answerWith((_request, response) => {
    let left = bytes;
    const more = (): void => {
      while (left > 0) {
        left -= CHUNK.length;
        if (!response.write(CHUNK)) {
          response.once('drain', more);
          return;
        }
      }
      response.end();
    };
    more();
  });

describe('a client that does not read is disconnected', () => {
  it('during a response, and its backend request is aborted', async () => {
    stream(Infinity);
    askWithoutReading(`GET /api/v1/files/a HTTP/1.1\r\n${head}\r\n`);
    await eventually('the backend is told', () => gateway.backend.requests[0]?.aborted === true, LONGEST_MS);
    await eventually('its connection is gone', async () => (await openConnections()) === 0, LONGEST_MS);
  });

  it('when only responses of the gateway itself wait for it', async () => {
    const before = await cutCount();
    const { length } = (await send(`${gateway.url}/openapi.json`)).body;
    // More than the socket buffers hold, in responses that need no backend.
    const requests = Math.ceil((24 * 1024 * 1024) / length);
    askWithoutReading(`GET /api/v1/openapi.json HTTP/1.1\r\n${head}\r\n`.repeat(requests));
    await eventually('it is cut', async () => (await cutCount()) === before + 1, LONGEST_MS);
    expect(await openConnections()).toBe(0);
  });
});

it('a client that reads slowly gets the whole response', async () => {
  const bytes = 12 * 1024 * 1024;
  stream(bytes);
  const socket = askWithoutReading(`GET /api/v1/files/a HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
  let received = 0;
  let end = '';
  const startedMs = performance.now();
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length;
    end = chunk.subarray(-5).toString();
    socket.pause();
    setTimeout(() => socket.resume(), 15);
  });
  socket.resume();
  await once(socket, 'close');
  expect(performance.now() - startedMs).toBeGreaterThan(2 * IDLE_MS);
  expect(received).toBeGreaterThan(bytes);
  expect(end).toBe('0\r\n\r\n');
});
