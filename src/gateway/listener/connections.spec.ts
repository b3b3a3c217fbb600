/** An idle connection ends after its timeout, and no other does. Uses real sockets. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { configSchema } from '../../config/model/schema.js';
import { FileDescriptors } from '../../platform/resources/file-descriptors.js';
import type { Logger } from '../../platform/log.js';
import { Connections } from './connections.js';

const KEEP_ALIVE_TIMEOUT_MS = 300;
const SWEEP_INTERVAL_MS = 50;
const MAX_CONNECTIONS = 3;
const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

let server: Server;
let stop: () => void;
let lines: unknown[];
const clients: Socket[] = [];

beforeEach(async () => {
  const { gateway, services } = configSchema.parse({ services: {}, plans: {} });
  server = createServer({ keepAliveTimeout: 0 }, (message, response) => {
    if (message.url === '/slow') setTimeout(() => response.end('slow'), 1.5 * KEEP_ALIVE_TIMEOUT_MS);
    else response.end('ok');
  });
  server.on('upgrade', (_message, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
    socket.on('end', () => socket.end()).resume();
  });
  lines = [];
  const log = { warn: (fields: unknown) => void lines.push(fields) } as unknown as Logger;
  const limited = { ...gateway, limits: { ...gateway.limits, connectionsPerAddress: MAX_CONNECTIONS } };
  const descriptors = new FileDescriptors();
  const times = [KEEP_ALIVE_TIMEOUT_MS, SWEEP_INTERVAL_MS] as const;
  stop = new Connections(limited, services, descriptors, log, ...times).attachTo(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  stop();
  for (const client of clients.splice(0)) client.destroy();
  server.close();
  await once(server, 'close');
});

async function open(): Promise<Socket> {
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  clients.push(client);
  await once(client, 'connect');
  client.resume();
  return client;
}

it('an idle connection ends after its timeout, and not before', async () => {
  const client = await open();
  const sentMs = performance.now();
  client.write(REQUEST);
  await once(client, 'close');
  expect(performance.now() - sentMs).toBeGreaterThanOrEqual(KEEP_ALIVE_TIMEOUT_MS);
});

it('a connection with regular requests stays open', async () => {
  const client = await open();
  for (let time = 0; time < 5; time++) {
    client.write(REQUEST);
    await sleep(KEEP_ALIVE_TIMEOUT_MS / 3);
    expect(client.closed).toBe(false);
  }
});

it('a connection with a slow response stays open until the response is sent', async () => {
  const client = await open();
  client.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
  const [response] = (await once(client, 'data')) as [Buffer];
  expect(response.toString()).toContain('slow');
});

it('an upgraded connection stays open', async () => {
  const client = await open();
  client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  await sleep(1.5 * KEEP_ALIVE_TIMEOUT_MS);
  expect(client.closed).toBe(false);
});

it('connections beyond the limit of an address are cut, and logged once with setting and address', async () => {
  for (let index = 0; index < MAX_CONNECTIONS; index++) await open();
  expect(lines).toEqual([]);
  for (let index = 0; index < 2; index++) {
    const client = await open();
    await once(client, 'close');
  }
  const setting = 'gateway.limits.connectionsPerAddress';
  const line = { event: 'address_connections_cut', client_network: '127.0.0.1', setting, limit: MAX_CONNECTIONS };
  expect(lines).toEqual([{ ...line, times: 1 }]);
});
