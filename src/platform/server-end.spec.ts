/** At shutdown, running responses arrive completely, and nothing else is waited for. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { ServerEnd } from './server-end.js';

const GRACE_MS = 200;
const LARGE_BYTES = 32 * 1_024 * 1_024;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('ServerEnd', () => {
  let server: Server;
  let serverEnd: ServerEnd;
  let responses: ServerResponse[];
  let clients: Socket[];

  beforeEach(async () => {
    responses = [];
    clients = [];
    server = createServer((_request, response) => responses.push(response));
    serverEnd = new ServerEnd(server, GRACE_MS);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    for (const client of clients) client.destroy();
    server.closeAllConnections();
    server.close();
  });

  async function client(text: string): Promise<Socket> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    clients.push(socket.on('error', () => undefined));
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  }

  const ended = () => serverEnd.closeServer(() => new Promise((resolve) => server.close(resolve)));
  const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

  it('waits until the last response has arrived, however slowly its client reads', async () => {
    const socket = await client(GET);
    while (responses.length === 0) await sleep(5);
    socket.pause();
    const over = ended();
    await sleep(50);
    responses[0]!.end(Buffer.alloc(LARGE_BYTES));
    await sleep(GRACE_MS + 250);
    let bytes = 0;
    socket.on('data', (piece: Buffer) => (bytes += piece.length));
    socket.resume();
    await over;
    await once(socket, 'close').catch(() => undefined);
    expect(bytes).toBeGreaterThan(LARGE_BYTES);
  });

  it('waits neither for a partial request nor for a connection that becomes idle later', async () => {
    await client('GET / HTT');
    await client(GET);
    while (responses.length === 0) await sleep(5);
    const startedMs = performance.now();
    const over = ended();
    await sleep(50);
    responses[0]!.end('last');
    await over;
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });
});
