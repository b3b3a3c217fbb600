/** Fields on their way through, on every way that a request can come in: what is passed on, and in which form. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { json } from '../support/backend.js';
import { startEdge, WAYS, type Edge } from '../support/edge.js';

let edge: Edge;

beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.stop());
beforeEach(() => edge.answerWith(json({ ok: true })));

describe.each(WAYS)('%s', (way) => {
  it.each(['Proxy', 'proxy', 'PROXY'])(
    'a field %s, of which CGI makes HTTP_PROXY, never reaches a backend',
    async (name) => {
      expect((await edge.ask(way, { fields: [name, 'http://evil.example', 'X-Kept', '1'] })).status).toBe(200);
      const [received] = edge.received(way);
      expect(received?.headers['x-kept']).toBe('1');
      expect(Object.keys(received?.headers ?? {})).not.toContain('proxy');
    },
  );

  it('a Content-Length reaches the backend as a number without zeros in front', async () => {
    const request = {
      method: 'PUT',
      target: '/api/v1/files/a',
      fields: ['Content-Length', '0010'],
      body: '0123456789',
    };
    expect((await edge.ask(way, request)).status).toBe(200);
    expect((await edge.ask(way, { ...request, fields: ['Content-Length', '000'], body: '' })).status).toBe(200);
    expect(edge.received(way).map(({ headers, bodyBytes }) => [headers['content-length'], bodyBytes])).toEqual([
      ['10', 10],
      ['0', 0],
    ]);
  });

  it("a Content-Length of a backend's reaches the client so too", async () => {
    edge.answerWith((_request, response) => {
      response.writeHead(200, ['Content-Length', '0010']);
      response.end('0123456789');
    });
    const { headers, text } = await edge.ask(way);
    expect([headers['content-length'], text]).toEqual(['10', '0123456789']);
  });

  it("a backend's Via reaches the client, with ours behind it", async () => {
    edge.answerWith((_request, response) => {
      response.writeHead(200, ['Via', '1.1 varnish, 1.0 fred']);
      response.end('{}');
    });
    const { rawHeaders } = await edge.ask(way);
    const entries = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'via');
    expect(entries.join(', ')).toBe('1.1 varnish, 1.0 fred, 1.1 trailgate');
  });

  it("a client's Via reaches the backend, with ours behind it", async () => {
    await edge.ask(way, { fields: ['Via', '1.0 fred'] });
    const version = way === 'over HTTP/2' ? '2.0' : '1.1';
    expect(edge.received(way)[0]?.headers['via']).toBe(`1.0 fred, ${version} trailgate`);
  });

  // RFC 9110 section 15.5.22: a 426 names in Upgrade what has to be spoken instead; section 7.8: and Connection names Upgrade.
  it("a backend's 426 tells the client what to speak instead", async () => {
    edge.answerWith((_request, response) => {
      response.writeHead(426, ['Upgrade', 'websocket', 'Connection', 'Upgrade', 'Sec-WebSocket-Version', '13, 8']);
      response.end();
    });
    const isHttp2 = way === 'over HTTP/2';
    for (const request of [{}, { method: 'HEAD' }]) {
      const answer = await edge.ask(way, request);
      expect([answer.status, answer.headers['sec-websocket-version']]).toEqual([426, '13, 8']);
      expect(answer.headers['upgrade']).toBe(isHttp2 ? undefined : 'websocket');
      const connection = answer.rawHeaders.filter((_, at, all) => all[at - 1]?.toLowerCase() === 'connection').join();
      expect(connection.split(/, */).toSorted()).toEqual(isHttp2 ? [''] : ['Upgrade', 'close']);
    }
  });

  it('an Upgrade of any other response ends at the gateway', async () => {
    for (const status of [200, 400]) {
      edge.answerWith((_request, response) => {
        response.writeHead(status, ['Upgrade', 'h2c', 'Connection', 'Upgrade']);
        response.end('{}');
      });
      const { headers, ...answer } = await edge.ask(way);
      expect([answer.status, headers['upgrade']]).toEqual([status, undefined]);
    }
  });
});
