/**
 * Connections that the gateway reads itself while requests are plain, and hands over to Node otherwise. On real
 * sockets.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { PlainServer, waitUntil } from '../../../test/support/plain-server.js';
import { plainConnectionOf } from './plain-connection.js';

let line: PlainServer;
afterEach(() => line.stop());

describe.each([
  ['over TCP', false],
  ['over TLS', true],
])('%s', (_over, isEncrypted) => {
  beforeEach(async () => void (line = await PlainServer.start(isEncrypted)));

  describe('plain requests', () => {
    it('are served one after another without Node', async () => {
      const client = line.connect();
      for (const path of ['/1', '/2', '/3']) {
        client.get(path);
        await client.sees(`hand ${path}`);
      }
      expect(line.nodes).toEqual([]);
      expect(line.served.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(client.text).toMatch(
        /^HTTP\/1\.1 200 OK\r\nContent-Length: 7\r\nConnection: keep-alive\r\nKeep-Alive: timeout=65\r\n\r\nhand/,
      );
    });

    it('with bodies are served one after another without Node', async () => {
      const client = line.connect();
      for (const [method, body] of [
        ['POST', '{"a":1}'],
        ['PUT', ''],
        ['PATCH', '\r\n\r\n'],
      ] as const) {
        client.send(`${method} /${method} HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        await client.sees(`hand /${method}`);
      }
      client.get('/last');
      await client.sees('hand /last');
      expect(line.nodes).toEqual([]);
      expect(line.served.map(({ request }) => request.body?.toString())).toEqual([
        '{"a":1}',
        '',
        '\r\n\r\n',
        undefined,
      ]);
    });

    it('with bodies in a few pieces after their heads are served without Node', async () => {
      const client = line.connect();
      for (const path of ['/1', '/2']) {
        client.send(`POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n`);
        for (const piece of ['one', 'two', 'six']) {
          await line.settled();
          expect(client.text).not.toContain(`hand ${path}`);
          client.send(piece);
        }
        await client.sees(`hand ${path}`);
      }
      expect(line.nodes).toEqual([]);
      expect(line.served.map(({ request }) => request.body?.toString())).toEqual(['onetwosix', 'onetwosix']);
    });

    it('whose bodies arrive late are handed over to Node completely', async () => {
      await line.stop();
      line = await PlainServer.start(isEncrypted, 50);
      const client = line.connect();
      client.send('POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\none');
      await waitUntil(() => line.nodes.length === 1);
      client.send('twosix');
      await client.sees('node /1');
      expect(line.served).toHaveLength(0);
    });

    it('whose clients leave in the middle of a body are never served', async () => {
      await line.stop();
      line = await PlainServer.start(isEncrypted, 50);
      const client = line.connect();
      client.get('/0');
      await client.sees('hand /0');
      client.send('POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\none');
      await line.settled();
      client.socket.end();
      await waitUntil(() => client.isEnded);
      await sleep(100);
      expect([line.served.length, line.nodes]).toEqual([1, []]);
    });

    it('with Connection: close get the last response, and later requests are not served', async () => {
      const client = line.connect();
      line.isPrompt = false;
      client.get('/1', 'Connection: close\r\n');
      await waitUntil(() => line.served.length === 1);
      client.get('/2');
      await line.settled();
      line.onlyOne().respond('last');
      await waitUntil(() => client.isEnded);
      expect(client.text).toContain('\r\nConnection: close\r\n\r\nlast');
      expect([line.served.length, line.nodes]).toEqual([1, []]);
    });

    it.each(['reset', 'destroy'] as const)('whose client has gone (%s) end with status 0', async (leave) => {
      const client = await line.asked();
      if (leave === 'reset') client.reset();
      else client.socket.destroy();
      await waitUntil(() => line.onlyOne().status === 0);
      line.onlyOne().respond('nobody hears this');
      expect(line.onlyOne().connection.isGone).toBe(true);
    });

    it('of half-closed clients get a response, and then the connection ends', async () => {
      const client = await line.asked();
      client.socket.end();
      await sleep(150);
      line.onlyOne().respond('all the same');
      await waitUntil(() => line.onlyOne().status === 200 && client.isEnded);
      expect(client.text).toMatch(/^HTTP\/1\.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\nall the same$/);
    });

    it('end when the client has received the response, not before', async () => {
      const client = await line.unread();
      await line.settled();
      expect(line.onlyOne().status).toBeUndefined();
      expect(line.onlyOne().connection.hasRequest).toBe(true);
      client.socket.resume();
      await waitUntil(() => line.onlyOne().status === 200);
      client.get('/2');
      await waitUntil(() => line.served.length === 2);
    });
  });

  describe('a connection is handed over to Node', () => {
    it.each([
      ['with a request in two pieces', ['GET /1 HT', 'TP/1.1\r\nHost: h\r\n\r\n']],
      [
        'with a body and another request behind it',
        ['POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\na', 'bGET /2 HTTP/1.1\r\nHost: h\r\n\r\n'],
      ],
      [
        'with a body byte by byte',
        ['POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 20\r\n\r\n', ...'abcdefghijklmnopqrst'],
      ],
      ['with two requests at once', ['GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n']],
    ])('%s, and every request is read once', async (_how, pieces) => {
      const client = line.connect();
      client.get('/0');
      await client.sees('hand /0');
      for (const piece of pieces) {
        client.send(piece);
        await line.settled();
      }
      await client.sees('hand /0', 'node /1');
      client.get('/9');
      await client.sees('hand /0', 'node /1', 'node /9');
      expect(line.served).toHaveLength(1);
      expect(line.nodes.filter((path) => path === '/1')).toHaveLength(1);
    });

    it('when the server rejects the request', async () => {
      line.isServing = false;
      const client = line.connect();
      client.get('/1');
      await client.sees('node /1');
    });

    it('when a response is streamed, and the request is not served twice', async () => {
      const client = line.connect();
      line.isPrompt = false;
      client.get('/1?x=y', 'X-A: b\r\n');
      await waitUntil(() => line.served.length === 1);
      const one = line.onlyOne();
      const { nodeResponse } = one.connection;
      expect(one.nodes?.response).toBe(nodeResponse);
      expect(one.nodes?.message).toMatchObject({ url: '/1?x=y', complete: true, rawHeaders: one.request.rawHeaders });
      nodeResponse.writeHead(200);
      nodeResponse.write('some ');
      await client.sees('some ');
      nodeResponse.end('more');
      client.get('/2');
      await client.sees('some ', 'more', 'node /2');
      expect([line.served.length, line.nodes]).toEqual([1, ['/2']]);
    });

    it('with a request whose body has arrived, which Node reads again', async () => {
      const client = line.connect();
      line.isPrompt = false;
      client.send('POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody');
      await waitUntil(() => line.served.length === 1);
      const one = line.onlyOne();
      expect(one.request.body?.toString()).toBe('body');
      const { nodeResponse } = one.connection;
      expect(one.nodes?.message).toMatchObject({ method: 'POST', url: '/1' });
      let body = '';
      one.nodes?.message.on('data', (piece: Buffer) => (body += piece.toString()));
      nodeResponse.end('streamed');
      client.get('/2');
      await client.sees('streamed', 'node /2');
      expect(body).toBe('body');
    });

    it('when a second request arrives before the response to the first, and both get responses in order', async () => {
      const client = await line.asked();
      client.get('/2');
      await waitUntil(() => line.nodes.length === 1);
      await line.settled();
      expect(client.text).toBe('');
      line.onlyOne().nodes?.response.end('first');
      await client.sees('first', 'node /2');
    });

    it('when a request arrives before the previous response was received, which is not sent again', async () => {
      const client = await line.unread();
      client.get('/2');
      await line.settled();
      expect([line.onlyOne().status, line.onlyOne().nodes]).toEqual([undefined, undefined]);
      client.socket.resume();
      await client.sees('HTTP/1.1 200', 'xxx', 'HTTP/1.1 200', 'node /2');
      expect([line.onlyOne().status, line.nodes]).toEqual([200, ['/2']]);
    });

    it('with its last allowed request, which is answered after the previous response has ended', async () => {
      line.server.maxRequestsPerSocket = 2;
      let last: ServerResponse | undefined;
      line.server.removeAllListeners('request');
      line.server.on('request', (message, response) => {
        expect(plainConnectionOf(message.socket)?.countNodeRequest(response)).toBe(true);
        last = response;
      });
      const client = await line.unread();
      client.get('/2');
      await waitUntil(() => last !== undefined);
      client.socket.resume();
      await waitUntil(() => line.onlyOne().status === 200);
      await line.settled();
      last?.end('node /2');
      await client.sees('xxx', 'Connection: close', 'node /2');
      await waitUntil(() => client.isEnded);
    });

    it('after a response that the client never receives, which ends when the client is gone', async () => {
      const client = await line.unread();
      client.get('/2');
      await line.settled();
      client.reset();
      await waitUntil(() => line.onlyOne().status === 0);
    });

    it('when the next data is not HTTP, which Node rejects', async () => {
      const client = line.connect();
      client.get('/1');
      await client.sees('hand /1');
      client.send('\u0016\u0003\u0001 not this protocol');
      await waitUntil(() => client.isEnded);
      expect(line.nodes).toEqual([]);
    });

    it('for a WebSocket, which works in both directions', async () => {
      line.server.on('upgrade', (_message, socket: Socket, head: Buffer) => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
        socket.write(`head ${head.toString()},`);
        socket.on('end', () => socket.end());
        socket.on('data', (bytes: Buffer) => socket.write(`echo ${bytes.toString()},`));
      });
      const client = line.connect();
      client.get('/1');
      await client.sees('hand /1');
      client.send('GET /2 HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nABC');
      await client.sees('head ABC,');
      client.send('def');
      await client.sees('head ABC,', 'echo def,');
      client.send('ghi');
      await client.sees('echo ghi,');
    });

    it('for a large body, which arrives byte for byte', async () => {
      let received = 0;
      line.server.removeAllListeners('request');
      line.server.on('request', (message, response) => {
        message.on('data', (piece: Buffer) => (received += piece.length));
        message.on('end', () => response.end(`got ${received}`));
      });
      const client = line.connect();
      client.get('/1');
      await client.sees('hand /1');
      const bytes = 5_000_000;
      client.send(`POST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: ${bytes}\r\n\r\n`);
      client.send('x'.repeat(bytes));
      await client.sees(`got ${bytes}`);
    });
  });
});
