/**
 * The gateway holds a small response until it is complete and sends it in one piece. It streams larger and slower
 * responses as they arrive.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { send, type Answer } from '../support/http.js';
import { sleep } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';
import { policiesOf } from '../support/rate-limit.js';

const PAUSE_MS = 50;
const SMALL = 16 * 1024;

let gateway: Proxied;
/** Secret of a key on a plan with limits. */
let limited: string;

beforeAll(async () => {
  gateway = await startProxied({
    config: {
      services: { backend: { timeouts: { idle: '500ms' } } },
      plans: { limited: { key: { minute: 100, month: 100 }, account: { minute: 100, month: 100 } } },
    },
  });
  limited = (await gateway.trailgate.admin.newKey('limited')).key.secret;
});
afterAll(() => gateway.stop());

/** Makes the backend write these raw pieces with pauses, and then calls `more`. */
function backendWrites(pieces: readonly string[], more?: (response: ServerResponse) => void): void {
  gateway.answerWith((_request, response) => {
    const { socket } = response;
    void (async () => {
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) await sleep(PAUSE_MS);
        socket?.write(piece, 'latin1');
      }
      more?.(response);
    })();
  });
}

const sendLimited = (): Promise<Answer> =>
  send(`${gateway.url}/open`, { headers: { Authorization: `Bearer ${limited}` } });
const leftAfter = (answer: Answer): number[] => policiesOf(answer).map(({ r }) => r);

/** Head of a raw response. Each one closes its connection, because Node's server does not know about it. */
const OK = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n';
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const LAST = '0\r\n\r\n';

describe('a chunked backend response', () => {
  it('that arrives complete at once is sent with Content-Length instead', async () => {
    backendWrites([`${OK}Transfer-Encoding: chunked\r\n\r\n${chunk('one ')}${chunk('t\xe9xt')}${LAST}`]);
    const answer = await gateway.send('/open');
    expect(answer.headers).toMatchObject({ 'content-length': '8', 'content-type': 'text/plain' });
    expect(answer.headers['transfer-encoding']).toBeUndefined();
    expect(answer.body.toString('latin1')).toBe('one t\xe9xt');
  });

  it('that is empty is sent with Content-Length: 0', async () => {
    backendWrites([`${OK}Transfer-Encoding: chunked\r\n\r\n${LAST}`]);
    const answer = await gateway.send('/open');
    expect([answer.headers['content-length'], answer.text]).toEqual(['0', '']);
  });

  it.each([
    ['takes its time', [chunk('one'), chunk('two'), LAST]],
    ['is large', [chunk('x'.repeat(SMALL + 1)) + LAST]],
  ])('that %s is sent in chunks', async (_what, pieces) => {
    const [first = '', ...rest] = pieces;
    backendWrites([`${OK}Transfer-Encoding: chunked\r\n\r\n${first}`, ...rest]);
    const answer = await gateway.send('/open');
    expect(answer.headers['transfer-encoding']).toBe('chunked');
    expect(answer.headers['content-length']).toBeUndefined();
    expect(answer.text).toMatch(/^(?:onetwo|x{16385})$/);
  });

  it('to a client that accepts trailers keeps its chunks and trailers', async () => {
    backendWrites([`${OK}Trailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n${chunk('one')}0\r\nX-Sum: 3\r\n\r\n`]);
    const answer = await gateway.send('/open', { headers: ['TE', 'trailers'] });
    expect([answer.headers['transfer-encoding'], answer.text, answer.trailers]).toEqual([
      'chunked',
      'one',
      { 'x-sum': '3' },
    ]);
  });
});

describe('a backend response with Content-Length', () => {
  it.each([
    ['small', 'one'],
    ['large', 'x'.repeat(SMALL)],
  ])('arrives complete when the backend sends it in pieces: %s', async (_what, piece) => {
    const body = piece + piece + piece;
    backendWrites([`${OK}Content-Length: ${body.length}\r\n\r\n${piece}`, piece, piece]);
    const answer = await gateway.send('/open');
    expect([answer.headers['content-length'], answer.text]).toEqual([String(body.length), body]);
  });

  it.each([
    ['breaks off', 502, 'backend_bad_response', (response: ServerResponse) => response.socket?.resetAndDestroy()],
    ['stands still', 504, 'backend_timeout', () => undefined],
  ])('that %s while the gateway holds it becomes a %i that consumes no quota', async (_what, status, code, end) => {
    gateway.answerWith((_request, response) => void response.end('{}'));
    const before = leftAfter(await sendLimited());
    backendWrites([`${OK}Content-Length: 10\r\n\r\nhalf`], end);
    const answer = await sendLimited();
    expect([answer.status, answer.json()['code']]).toEqual([status, code]);
    expect(leftAfter(answer)).toEqual(before);
  });

  it('that breaks off after its first bytes were passed on cuts the client connection', async () => {
    backendWrites([`${OK}Content-Length: ${SMALL + 10}\r\n\r\nhalf`], (response) => response.socket?.resetAndDestroy());
    await expect(gateway.send('/open')).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});
