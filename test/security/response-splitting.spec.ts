/** Attack: a backend, or someone who controls parts of its responses, tries to inject a second response. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startRawBackend, type RawBackend } from '../support/backend.js';
import { startProxied, type Proxied } from '../support/proxied.js';

let gateway: Proxied;
let backend: RawBackend;
let bytes: string;

beforeAll(async () => {
  backend = await startRawBackend((socket) => socket.on('data', () => socket.end(bytes, 'latin1')));
  gateway = await startProxied({ targets: backend.url });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

/** Sends two requests on one connection, and returns their responses. */
async function twoAnswers(): Promise<string[]> {
  const head = `Host: a\r\nAuthorization: ${gateway.authorization}\r\n`;
  const text = await gateway.raw(
    `GET /api/v1/open HTTP/1.1\r\n${head}\r\nGET /api/v1/nowhere HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
    600,
  );
  return text.split(/(?=HTTP\/1\.1 \d+ )/);
}

const INJECTED = 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\nSet-Cookie: evil=1\r\n\r\ninjected';

describe('a response is not followed by an injected one', () => {
  it.each([
    ['an answer behind the answer', `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok${INJECTED}`],
    ['an answer behind a 204', `HTTP/1.1 204 No Content\r\n\r\n${INJECTED}`],
    ['an answer behind a 304', `HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n${INJECTED}`],
    [
      'an answer behind the last chunk',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n${INJECTED}`,
    ],
    ['trailers', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nSet-Cookie: evil=1\r\n\r\n'],
    ['a bare CR in a field', `HTTP/1.1 200 OK\r\nX-A: b\rSet-Cookie: evil=1\r\nContent-Length: 2\r\n\r\nok`],
    ['a bare LF in a field', `HTTP/1.1 200 OK\r\nX-A: b\n\nSet-Cookie: evil=1\r\nContent-Length: 2\r\n\r\nok`],
    ['a folded field', 'HTTP/1.1 200 OK\r\nX-A: b\r\n Set-Cookie: evil=1\r\nContent-Length: 2\r\n\r\nok'],
    ['a zero byte in a field', 'HTTP/1.1 200 OK\r\nX-A: b\0Set-Cookie: evil=1\r\nContent-Length: 2\r\n\r\nok'],
    ['a space before the colon', 'HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok'],
    ['two lengths', `HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 200\r\n\r\nok${INJECTED}`],
    [
      'a length and chunks',
      `HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${INJECTED}`,
    ],
    ['a line break in the reason', `HTTP/1.1 200 OK\rX\r\nContent-Length: 2\r\n\r\nok`],
    [
      'an interim answer with fields',
      'HTTP/1.1 103 Early Hints\r\nSet-Cookie: evil=1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    ],
    [
      'a code unit whose low byte is a line break',
      'HTTP/1.1 200 OK\r\nX-A: \xc4\x8d\xc4\x8aSet-Cookie: evil=1\r\nContent-Length: 2\r\n\r\nok',
    ],
  ])('%s', async (_what, answer) => {
    bytes = answer;
    const all = await twoAnswers();
    expect(all.join('')).not.toMatch(/\r\nset-cookie:|injected/i);
    // Early hints are not counted as responses.
    const answers = all.filter((each) => !each.startsWith('HTTP/1.1 103 '));
    expect(answers).toHaveLength(2);
    expect(answers[0]).toMatch(/^HTTP\/1\.1 (?:200|204|304|502) /);
    expect(answers[1]).toMatch(/^HTTP\/1\.1 404 [^]*route_not_found/);
  });
});

it('a response has the length in its header, or is a 502, or the connection breaks', async () => {
  const answer = (length: number, body = 'ok'): string => `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n${body}`;
  const bodyOf = (text = ''): string => text.slice(text.indexOf('\r\n\r\n') + 4);
  bytes = answer(2);
  expect((await twoAnswers()).map(bodyOf)[0]).toBe('ok');
  bytes = answer(1);
  expect((await twoAnswers()).map(bodyOf)[0]).toBe('o');
  bytes = answer(3);
  expect((await twoAnswers())[0]).toMatch(/^HTTP\/1\.1 502 /);
  // Too large to be buffered until it is complete.
  const large = 'x'.repeat(20_000);
  bytes = answer(large.length + 1, large);
  expect((await twoAnswers()).map(bodyOf)).toEqual([large]);
});
