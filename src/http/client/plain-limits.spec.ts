/** Limits of connections and of requests per connection, whether Node reads them or the gateway. On real sockets. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { PlainServer, waitUntil } from '../../../test/support/plain-server.js';

let line: PlainServer;
beforeEach(async () => void (line = await PlainServer.start()));
afterEach(() => line.stop());

describe('limits', () => {
  it('of requests per connection include those read by the gateway and those read by Node', async () => {
    line.server.maxRequestsPerSocket = 3;
    const client = line.connect();
    client.get('/1');
    await client.sees('hand /1');
    expect(client.text).toContain('Keep-Alive: timeout=65, max=3\r\n');
    line.isServing = false;
    client.get('/2');
    await client.sees('node /2');
    expect(client.isEnded).toBe(false);
    client.get('/3');
    await waitUntil(() => client.isEnded);
    expect(client.text).toContain('node /3');
  });

  it.each([
    ['read by Node', false],
    ['read by hand, and streamed', true],
  ])('of requests per connection ignore data after the last request, which was %s', async (_how, isByHand) => {
    line.server.maxRequestsPerSocket = 2;
    const client = line.connect();
    client.get('/1');
    await client.sees('hand /1');
    line.isPrompt = false;
    const [two, three] = ['/2', '/3'].map((path) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`);
    if (isByHand) {
      client.send(String(two));
      await waitUntil(() => line.served.length === 2);
      const response = line.served[1]?.connection.nodeResponse;
      response?.write('streamed');
      client.send(String(three));
      await sleep(30);
      response?.end(' to its end');
    } else client.send(`${two}${three}`);
    await waitUntil(() => client.isEnded);
    expect(client.text).toContain(isByHand ? ' to its end' : 'node /2');
    expect(client.text).toContain('Connection: close');
    expect(line.nodes).toEqual(isByHand ? [] : ['/2']);
  });

  it('of requests per connection apply without Node', async () => {
    line.server.maxRequestsPerSocket = 2;
    const client = line.connect();
    client.get('/1');
    await client.sees('hand /1');
    client.get('/2');
    await waitUntil(() => client.isEnded);
    expect(client.text).toMatch(/Connection: close\r\n\r\nhand \/2$/);
  });

  it('of connections apply, and ended connections do not count', async () => {
    line.server.maxConnections = 1;
    for (const path of ['/1', '/2']) {
      const client = line.connect();
      client.get(path);
      await client.sees(`hand ${path}`);
      const dropped = line.connect();
      await waitUntil(() => dropped.isEnded);
      client.socket.destroy();
      await waitUntil(() => count() === 0);
    }
    function count(): number {
      let connections = -1;
      line.server.getConnections((_error, known) => (connections = known));
      return connections === -1
        ? ((line.server as unknown as { _connections: number })._connections ?? -1)
        : connections;
    }
  });

  it('report a connection reset once', async () => {
    const errors: string[] = [];
    line.server.removeAllListeners('clientError');
    line.server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      errors.push(error.code ?? '');
      socket.destroy();
    });
    const client = line.connect();
    client.get('/1');
    await client.sees('hand /1');
    client.socket.resetAndDestroy();
    await waitUntil(() => errors.length > 0);
    await sleep(20);
    expect(errors).toEqual(['ECONNRESET']);
  });
});
