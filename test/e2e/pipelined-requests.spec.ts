/** Pipelined requests: several on one connection, sent without waiting for responses (RFC 9112 section 9.3.2). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connect } from 'node:net';
import { eventually } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

const SLOW_MS = 100;

let gateway: Proxied;
let head: string;
/** Starts and ends of requests at the backend, in order. */
let events: string[];
beforeAll(async () => {
  gateway = await startProxied();
  head = `Host: api.example.com\r\nAuthorization: ${gateway.authorization}\r\n`;
});
afterAll(() => gateway.stop());
beforeEach(() => {
  events = [];
  gateway.answerWith((request, response) => {
    const name = `${request.method} ${request.url}`;
    events.push(`begin ${name}`);
    setTimeout(() => {
      events.push(`end ${name}`);
      response.end(name);
    }, SLOW_MS);
  });
});

const get = (path: string): string => `GET /api/v1/open?${path} HTTP/1.1\r\n${head}\r\n`;
const remove = (path: string): string => `DELETE /api/v1/customers/${path} HTTP/1.1\r\n${head}\r\n`;
const put = (path: string, body: string): string =>
  `PUT /api/v1/files/${path} HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`;
const inTurn = (...names: string[]): string[] => names.flatMap((name) => [`begin ${name}`, `end ${name}`]);
/** Returns the bodies of the responses in the order of their arrival. */
const answered = (text: string): string[] =>
  [...text.matchAll(/\r\n\r\n((?:GET|PUT|DELETE) [^\r]*?)(?=HTTP\/1\.1|$)/g)].map(([, body = '']) => body);

describe('pipelined requests', () => {
  it.each<[string, () => string, string[]]>([
    ['a GET behind a PUT', () => put('a', 'abc') + get('1'), ['PUT /files/a', 'GET /open?1']],
    ['a PUT behind a GET', () => get('1') + put('a', 'abc'), ['GET /open?1', 'PUT /files/a']],
    ['a GET behind a DELETE', () => remove('a') + get('1'), ['DELETE /customers/a', 'GET /open?1']],
    ['two PUTs', () => put('a', 'abc') + put('b', 'abc'), ['PUT /files/a', 'PUT /files/b']],
    [
      'GETs behind a PUT that waits',
      () => get('1') + put('a', 'abc') + get('2') + get('3'),
      ['GET /open?1', 'PUT /files/a', 'GET /open?2', 'GET /open?3'],
    ],
  ])('(%s) run one after the other when a method is not safe', async (_what, bytes, names) => {
    const text = await gateway.raw(bytes(), 500);
    expect(events).toEqual(inTurn(...names));
    expect(answered(text)).toEqual(names);
  });

  it('with safe methods run concurrently and are answered in order', async () => {
    const text = await gateway.raw(get('1') + get('2') + get('3'), 500);
    expect(events.slice(0, 3)).toEqual(['begin GET /open?1', 'begin GET /open?2', 'begin GET /open?3']);
    expect(answered(text)).toEqual(['GET /open?1', 'GET /open?2', 'GET /open?3']);
  });

  it('keep all of a large body while they wait', async () => {
    const body = 'x'.repeat(300_000);
    const text = await gateway.raw(get('1') + put('a', body), 500);
    expect(events).toEqual(inTurn('GET /open?1', 'PUT /files/a'));
    expect(gateway.backend.requests.map(({ bodyBytes }) => bodyBytes)).toEqual([0, body.length]);
    expect(answered(text)).toHaveLength(2);
  });

  it('that wait do not reach the backend after their client has disconnected', async () => {
    const socket = connect(gateway.port, '127.0.0.1');
    socket.write(put('a', 'abc') + put('b', 'abc'));
    await eventually('the first request is running', () => events.length === 1);
    socket.destroy();
    await eventually('the first request has ended', () => events.length === 2);
    await gateway.send('/open');
    expect(events.filter((event) => event.includes('/files/b'))).toEqual([]);
  });
});
