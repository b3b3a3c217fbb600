/** Header fields that the gateway passes on, drops or rewrites, over every transport. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { json } from '../support/backend.js';
import { startEdge, TRANSPORTS, type Edge } from '../support/edge.js';

let edge: Edge;

beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.stop());
beforeEach(() => edge.answerWith(json({ ok: true })));

describe.each(TRANSPORTS)('%s', (transport) => {
  it.each(['Proxy', 'proxy', 'PROXY'])(
    'a field %s, which CGI would turn into HTTP_PROXY, does not reach the backend',
    async (name) => {
      expect((await edge.sendRequest(transport, { fields: [name, 'http://evil.example', 'X-Kept', '1'] })).status).toBe(
        200,
      );
      const [received] = edge.receivedRequests(transport);
      expect(received?.headers['x-kept']).toBe('1');
      expect(Object.keys(received?.headers ?? {})).not.toContain('proxy');
    },
  );

  it('a Content-Length reaches the backend without leading zeros', async () => {
    const request = {
      method: 'PUT',
      target: '/api/v1/files/a',
      fields: ['Content-Length', '0010'],
      body: '0123456789',
    };
    expect((await edge.sendRequest(transport, request)).status).toBe(200);
    expect(
      (await edge.sendRequest(transport, { ...request, fields: ['Content-Length', '000'], body: '' })).status,
    ).toBe(200);
    expect(
      edge.receivedRequests(transport).map(({ headers, bodyBytes }) => [headers['content-length'], bodyBytes]),
    ).toEqual([
      ['10', 10],
      ['0', 0],
    ]);
  });

  it("a backend's Content-Length reaches the client without leading zeros", async () => {
    edge.answerWith((_request, response) => {
      response.writeHead(200, ['Content-Length', '0010']);
      response.end('0123456789');
    });
    const { headers, text } = await edge.sendRequest(transport);
    expect([headers['content-length'], text]).toEqual(['10', '0123456789']);
  });

  it("a backend's Via reaches the client, followed by ours", async () => {
    edge.answerWith((_request, response) => {
      response.writeHead(200, ['Via', '1.1 varnish, 1.0 fred']);
      response.end('{}');
    });
    const { rawHeaders } = await edge.sendRequest(transport);
    const entries = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'via');
    expect(entries.join(', ')).toBe('1.1 varnish, 1.0 fred, 1.1 trailgate');
  });

  it("a client's Via reaches the backend, followed by ours", async () => {
    await edge.sendRequest(transport, { fields: ['Via', '1.0 fred'] });
    const version = transport === 'over HTTP/2' ? '2.0' : '1.1';
    expect(edge.receivedRequests(transport)[0]?.headers['via']).toBe(`1.0 fred, ${version} trailgate`);
  });

  // A 426 names the required protocol in Upgrade, which Connection must list (RFC 9110 sections 15.5.22 and 7.8).
  it("a backend's 426 reaches the client with its Upgrade field, except over HTTP/2", async () => {
    edge.answerWith((_request, response) => {
      response.writeHead(426, ['Upgrade', 'websocket', 'Connection', 'Upgrade', 'Sec-WebSocket-Version', '13, 8']);
      response.end();
    });
    const isHttp2 = transport === 'over HTTP/2';
    for (const request of [{}, { method: 'HEAD' }]) {
      const answer = await edge.sendRequest(transport, request);
      expect([answer.status, answer.headers['sec-websocket-version']]).toEqual([426, '13, 8']);
      expect(answer.headers['upgrade']).toBe(isHttp2 ? undefined : 'websocket');
      const connection = answer.rawHeaders.filter((_, at, all) => all[at - 1]?.toLowerCase() === 'connection').join();
      expect(connection.split(/, */).toSorted()).toEqual(isHttp2 ? [''] : ['Upgrade', 'close']);
    }
  });

  it('an Upgrade field of another response does not reach the client', async () => {
    for (const status of [200, 400]) {
      edge.answerWith((_request, response) => {
        response.writeHead(status, ['Upgrade', 'h2c', 'Connection', 'Upgrade']);
        response.end('{}');
      });
      const { headers, ...answer } = await edge.sendRequest(transport);
      expect([answer.status, headers['upgrade']]).toEqual([status, undefined]);
    }
  });
});
