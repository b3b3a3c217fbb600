/**
 * Attack: a request that the gateway and a backend would split into requests in different ways. Each of these requests
 * is refused, or served exactly as RFC 9112 defines it.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { json } from '../support/backend.js';
import { expectProblem, parseAnswer } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

let gateway: Proxied;
let head: string;

beforeAll(async () => {
  gateway = await startProxied();
  head = `Host: api.example.com\r\nAuthorization: ${gateway.authorization}\r\n`;
});
afterAll(() => gateway.stop());
beforeEach(() => gateway.answerWith(json({ ok: true })));

/** The request that must never be served. It is hidden in the bytes of another one. */
const hidden = (): string => `GET /api/v1/open?hidden HTTP/1.1\r\n${head}\r\n`;
const put = (fields: string, body: string): string => `PUT /api/v1/files/a HTTP/1.1\r\n${head}${fields}\r\n${body}`;

/** Sends bytes. Returns the responses, and the requests that the backend received completely. */
async function attempt(bytes: string, answers = 1): Promise<{ text: string; served: string[] }> {
  const text = await gateway.raw(bytes, 400, answers);
  const whole = gateway.backend.requests.filter(({ bodySha256 }) => bodySha256 !== undefined);
  return { text, served: whole.map(({ method, url, body }) => `${method} ${url} ${body.toString()}`.trim()) };
}

describe('an unusual or malformed request', () => {
  it.each<[string, () => string]>([
    // RFC 9112 section 6.3: a sender must not; it ought to be handled as an error.
    [
      'Content-Length and Transfer-Encoding',
      () => put('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${hidden()}`),
    ],
    [
      'Transfer-Encoding and Content-Length',
      () => put('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', `0\r\n\r\n${hidden()}`),
    ],
    // Section 6.3, item 5: differing values are an unrecoverable error. Equal ones may be merged, which we do not do.
    ['two Content-Lengths that differ', () => put('Content-Length: 4\r\nContent-Length: 5\r\n', 'abcde')],
    ['two Content-Lengths that agree', () => put('Content-Length: 4\r\nContent-Length: 4\r\n', 'abcd')],
    ['a list of Content-Lengths', () => put('Content-Length: 4, 4\r\n', 'abcd')],
    // Section 6.2 and RFC 9110 section 8.6: 1*DIGIT.
    ['a Content-Length with a sign', () => put('Content-Length: +4\r\n', 'abcd')],
    ['a negative Content-Length', () => put('Content-Length: -4\r\n', 'abcd')],
    ['a hexadecimal Content-Length', () => put('Content-Length: 0x4\r\n', 'abcd')],
    ['a Content-Length with a space inside', () => put('Content-Length: 4 4\r\n', 'abcd')],
    ['a Content-Length beyond 64 bits', () => put('Content-Length: 18446744073709551620\r\n', 'abcd')],
    // Section 5.2: a server must reject obs-fold or replace it.
    ['a folded field', () => put('X-A: b\r\n c\r\nContent-Length: 0\r\n', '')],
    ['a folded Transfer-Encoding', () => put('Transfer-Encoding:\r\n chunked\r\n', `0\r\n\r\n${hidden()}`)],
    ['a fold before the first field', () => `GET /api/v1/open HTTP/1.1\r\n X: y\r\n${head}\r\n`],
    // Section 5.1: no whitespace between name and colon; a server must refuse it.
    ['a space before the colon', () => put('Content-Length : 4\r\n', 'abcd')],
    ['a tab before the colon', () => put('Transfer-Encoding\t: chunked\r\n', `0\r\n\r\n${hidden()}`)],
    ['a field without a name', () => put(': x\r\nContent-Length: 0\r\n', '')],
    ['a field without a colon', () => put('Content-Length\r\n', '')],
    // Section 2.2: a bare CR is invalid. A bare LF may count as a line end, so parsers disagree.
    ['bare LF in the request line', () => `GET /api/v1/open HTTP/1.1\n${head}\r\n`],
    ['bare LF after a field', () => put('X-A: b\nContent-Length: 0\r\n', '')],
    ['bare LF all over', () => `GET /api/v1/open HTTP/1.1\nHost: a\nAuthorization: ${gateway.authorization}\n\n`],
    ['a bare CR in a value', () => put('X-A: b\rContent-Length: 4\r\n', 'abcd')],
    ['a zero byte in a value', () => put('X-A: b\0c\r\nContent-Length: 0\r\n', '')],
    // Section 6.1: chunked must be the last coding, once.
    ['chunked that is not last', () => put('Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${hidden()}`)],
    ['chunked twice', () => put('Transfer-Encoding: chunked, chunked\r\n', '3\r\nabc\r\n0\r\n\r\n')],
    [
      'two Transfer-Encodings',
      () => put('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', `0\r\n\r\n${hidden()}`),
    ],
    ['chunked behind a vertical tab', () => put('Transfer-Encoding: \x0bchunked\r\n', `0\r\n\r\n${hidden()}`)],
    ['chunked in quotes', () => put('Transfer-Encoding: "chunked"\r\n', `0\r\n\r\n${hidden()}`)],
    // Section 6.1: HTTP/1.0 with Transfer-Encoding must be treated as faulty.
    [
      'HTTP/1.0 with chunked',
      () => put('Transfer-Encoding: chunked\r\n', '3\r\nabc\r\n0\r\n\r\n').replace('HTTP/1.1', 'HTTP/1.0'),
    ],
    // Section 7.1: chunk = chunk-size [ chunk-ext ] CRLF chunk-data CRLF
    ['bare LF after a chunk size', () => put('Transfer-Encoding: chunked\r\n', '3\nabc\r\n0\r\n\r\n')],
    ['bare LF in a chunk extension', () => put('Transfer-Encoding: chunked\r\n', `3;a\nabc\r\n0\r\n\r\n${hidden()}`)],
    [
      'bare CR in a chunk extension',
      () => put('Transfer-Encoding: chunked\r\n', `3;a\rb\r\nabc\r\n0\r\n\r\n${hidden()}`),
    ],
    ['a chunk longer than it says', () => put('Transfer-Encoding: chunked\r\n', `3\r\nabcXX0\r\n\r\n${hidden()}`)],
    ['a chunk size with 0x', () => put('Transfer-Encoding: chunked\r\n', '0x3\r\nabc\r\n0\r\n\r\n')],
    ['a chunk size with an underscore', () => put('Transfer-Encoding: chunked\r\n', '1_0\r\nabc\r\n0\r\n\r\n')],
    ['a negative chunk size', () => put('Transfer-Encoding: chunked\r\n', '-3\r\nabc\r\n0\r\n\r\n')],
    [
      'a chunk size beyond 64 bits',
      () => put('Transfer-Encoding: chunked\r\n', '10000000000000003\r\nabc\r\n0\r\n\r\n'),
    ],
    ['no chunk size', () => put('Transfer-Encoding: chunked\r\n', '\r\nabc\r\n0\r\n\r\n')],
    // Section 2.3 and 3: one version, three parts.
    ['HTTP/2.0 in a request line', () => `GET /api/v1/open HTTP/2.0\r\n${head}\r\n`],
    ['HTTP/1.2', () => `GET /api/v1/open HTTP/1.2\r\n${head}\r\n`],
    ['HTTP/0.9 with fields', () => `GET /api/v1/open\r\n${head}\r\n`],
    ['the preface of HTTP/2', () => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${hidden()}`],
    ['a space in the target', () => `GET /api/v1/open x HTTP/1.1\r\n${head}\r\n`],
    ['a tab for a space', () => `GET\t/api/v1/open HTTP/1.1\r\n${head}\r\n`],
    ['a method that is no token', () => `G(T /api/v1/open HTTP/1.1\r\n${head}\r\n`],
    // Section 3.2: authority-form is for CONNECT only, and this is no tunnel.
    ['authority-form', () => `GET api.example.com:80 HTTP/1.1\r\n${head}\r\n`],
    ['CONNECT', () => `CONNECT api.example.com:80 HTTP/1.1\r\n${head}\r\n${hidden()}`],
    ['asterisk-form with another method than OPTIONS', () => `GET * HTTP/1.1\r\n${head}\r\n${hidden()}`],
    ['an asterisk with a query', () => `OPTIONS *?x HTTP/1.1\r\n${head}\r\n${hidden()}`],
    ['OPTIONS * with a body', () => `OPTIONS * HTTP/1.1\r\n${head}Content-Length: 4\r\n\r\nabcd`],
    ['OPTIONS * with two Hosts', () => `OPTIONS * HTTP/1.1\r\n${head}Host: b\r\n\r\n`],
    [
      'HTTP/1.0 that wants to stay, with chunked',
      () =>
        put('Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${hidden()}`).replace(
          'HTTP/1.1',
          'HTTP/1.0',
        ),
    ],
    ['chunked with a parameter', () => put('Transfer-Encoding: chunked;q=1\r\n', '3\r\nabc\r\n0\r\n\r\n')],
    ['an empty coding before chunked', () => put('Transfer-Encoding: , chunked\r\n', '3\r\nabc\r\n0\r\n\r\n')],
    [
      'a coding that is no token before chunked',
      () => put('Transfer-Encoding: foo bar, chunked\r\n', '3\r\nabc\r\n0\r\n\r\n'),
    ],
    ['chunked behind a byte that some take for a space', () => put('Transfer-Encoding: \xa0chunked\r\n', '0\r\n\r\n')],
    ['a method longer than any', () => `${'A'.repeat(8_000)} /api/v1/open HTTP/1.1\r\n${head}\r\n`],
    ['an unknown method in an unknown version', () => `FOO /api/v1/open HTTP/1.2\r\n${head}\r\n`],
    ['an unknown method without a version', () => 'FOO /api/v1/open\r\n\r\n'],
    ['an empty Transfer-Encoding', () => put('Transfer-Encoding:\r\nContent-Length: 4\r\n', 'abcd')],
    ['a zero byte in a name', () => put('X\0A: b\r\nContent-Length: 0\r\n', '')],
    ['TLS on a plain port', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ])('with %s gets 400 and does not reach the backend', async (_what, bytes) => {
    const { text, served } = await attempt(bytes());
    const answer = parseAnswer(text);
    expectProblem(answer, 'bad_request');
    expect(answer.headers['connection']).toBe('close');
    expect(served).toEqual([]);
  });

  // RFC 9110 section 9.1 and RFC 9112 section 6.1: methods and codings that a server does not support.
  it.each<[string, () => string]>([
    ['an unknown method', () => `FOO /api/v1/open HTTP/1.1\r\n${head}\r\n`],
    ['one in small letters', () => `get /api/v1/open HTTP/1.1\r\n${head}\r\n`],
    ['one that begins like a known one', () => `GETX /api/v1/open HTTP/1.1\r\n${head}\r\n`],
    ['one that only begins with a known one in small letters', () => `PATCHes /nothing HTTP/1.1\r\n${head}\r\n`],
    [
      'one that the parser reads and nobody has registered',
      () => `PURGE /api/v1/open HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
    ],
    ['one of these where there is nothing', () => `M-SEARCH /nothing HTTP/1.1\r\n${head}Connection: close\r\n\r\n`],
    ['an unknown coding', () => put('Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${hidden()}`)],
    ['a coding without chunked', () => put('Transfer-Encoding: gzip\r\n', hidden())],
    [
      'a coding before chunked that would be lost',
      () => put('Transfer-Encoding: gzip, chunked\r\n', '3\r\nabc\r\n0\r\n\r\n'),
    ],
    ['a coding with a parameter before chunked', () => put('Transfer-Encoding: gzip;q=1, chunked\r\n', '0\r\n\r\n')],
    ['identity alone', () => put('Transfer-Encoding: identity\r\n', hidden())],
  ])('with %s gets 501 and does not reach the backend', async (_what, bytes) => {
    const { text, served } = await attempt(bytes());
    const answer = parseAnswer(text);
    expectProblem(answer, 'not_implemented');
    expect(answer.headers['connection']).toBe('close');
    expect(served).toEqual([]);
  });

  it('with a known method that the path does not have gets 405 with Allow', async () => {
    for (const method of ['PROPFIND', 'TRACE', 'LOCK', 'QUERY']) {
      const { text } = await attempt(`${method} /api/v1/open HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
      expectProblem(parseAnswer(text), 'method_not_allowed');
      expect(parseAnswer(text).headers['allow']).toBe('GET, HEAD');
    }
  });

  it('with an unknown method gets its 501 after the responses to requests before it', async () => {
    const good = `GET /api/v1/open HTTP/1.1\r\n${head}\r\n`;
    const { text, served } = await attempt(
      `${good}${put('Content-Length: 3\r\n', 'abc')}FOO /api/v1/open HTTP/1.1\r\n${head}\r\n`,
    );
    expect([...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status)).toEqual(['200', '200', '501']);
    expect(served).toEqual(['GET /open', 'PUT /files/a abc']);
  });

  it('gets 400 after the response to a good request on the same connection', async () => {
    const socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
    let text = '';
    socket.on('data', (data: string) => (text += data));
    socket.write(`GET /api/v1/open HTTP/1.1\r\n${head}\r\n`);
    await eventually('the first answer is whole', () => /\r\n\r\n[^]+$/.test(text));
    socket.write(put('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${hidden()}`));
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expectProblem(parseAnswer(text.slice(text.lastIndexOf('HTTP/1.1 '))), 'bad_request');
    expect(gateway.backend.requests.map(({ url }) => url)).toEqual(['/open']);
  });

  it('with endless chunk extensions gets 413', async () => {
    const { text, served } = await attempt(
      put('Transfer-Encoding: chunked\r\n', `3;${'a'.repeat(20_000)}\r\nabc\r\n0\r\n\r\n`),
    );
    expectProblem(parseAnswer(text), 'content_too_large');
    expect(served).toEqual([]);
  });

  // Section 3.2.4: asterisk-form is for OPTIONS on the server as a whole, which is the gateway.
  it('that is OPTIONS * gets 204 from the gateway, and the connection stays open', async () => {
    const both = `OPTIONS * HTTP/1.1\r\n${head}\r\nGET /api/v1/open HTTP/1.1\r\n${head}\r\n`;
    const { text, served } = await attempt(both, 2);
    expect(text).toMatch(/^HTTP\/1\.1 204 No Content\r\nAllow: DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT\r\n/);
    expect(served).toEqual(['GET /open']);
    await eventually('it is logged', () =>
      gateway.trailgate.logs().some((line) => line['path'] === '*' && line['status'] === 204),
    );
  });
});

describe('a good response before a broken request', () => {
  const SLOW_MS = 300;
  const slowly = (): void =>
    gateway.answerWith((_request, response) => setTimeout(() => response.end('the good answer'), SLOW_MS));
  const good = (): string => `GET /api/v1/open HTTP/1.1\r\n${head}\r\n`;
  const statuses = (text: string): (string | undefined)[] =>
    [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);

  it.each<[string, () => string]>([
    ['garbage', () => 'garbage\r\n\r\n'],
    ['two lengths', () => put('Content-Length: 4\r\nContent-Length: 5\r\n', 'abcde')],
    ['a field without a colon', () => `GET /api/v1/open HTTP/1.1\r\n${head}broken\r\n\r\n`],
    ['a head over 16 KiB', () => `GET /api/v1/open HTTP/1.1\r\n${head}X: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['CONNECT', () => `CONNECT a:80 HTTP/1.1\r\n${head}\r\n`],
    ['garbage in many pieces', () => `${'\0'.repeat(10)}${hidden()}`],
  ])('is complete and comes before the error for %s (RFC 9112 section 9.3.2)', async (_what, broken) => {
    slowly();
    const text = await gateway.raw(good() + good() + broken(), 1_500, 3);
    expect(statuses(text)).toEqual(['200', '200', expect.stringMatching(/^4/)]);
    expect(text.match(/the good answer/g)).toHaveLength(2);
    expectProblem(
      parseAnswer(text.slice(text.lastIndexOf('HTTP/1.1 '))),
      text.includes(' 431 ') ? 'headers_too_large' : 'bad_request',
    );
    expect(gateway.backend.requests).toHaveLength(2);
  });

  it('is not truncated if it is already streaming', async () => {
    gateway.answerWith((_request, response) => {
      response.write('the good ');
      setTimeout(() => response.end('answer'), SLOW_MS);
    });
    const text = await gateway.raw(`${good()}garbage\r\n\r\n`, 1_500, 2);
    expect(statuses(text)).toEqual(['200', '400']);
    expect(text).toMatch(/the good [^]*answer\r\n0\r\n\r\nHTTP\/1\.1 400 /);
  });

  it('comes before the error for a broken body, which is sent at once otherwise', async () => {
    slowly();
    const body = put('Transfer-Encoding: chunked\r\n', '3\r\nabcXX');
    expect(statuses(await gateway.raw(body, 1_500, 1))).toEqual(['400']);
    expect(statuses(await gateway.raw(good() + body, 1_500, 2))).toEqual(['200', '400']);
  });
});

it('more than 200 header fields get 431', async () => {
  const { text, served } = await attempt(put(`${'a: b\r\n'.repeat(198)}Content-Length: 3\r\n`, 'abc'));
  expectProblem(parseAnswer(text), 'headers_too_large');
  expect(served).toEqual([]);
  const most = await attempt(put(`${'a: b\r\n'.repeat(197)}Content-Length: 3\r\n`, 'abc'));
  expect(most.served).toEqual(['PUT /files/a abc']);
});

describe('a valid request is served as RFC 9112 defines it', () => {
  it.each<[string, () => string, string[]]>([
    [
      'chunk extensions, which are dropped',
      () => put('Transfer-Encoding: chunked\r\n', '3;a=b;c="d"\r\nabc\r\n0\r\n\r\n'),
      ['PUT /files/a abc'],
    ],
    [
      'a tab after the colon',
      () => put('Transfer-Encoding:\tchunked\r\n', '3\r\nabc\r\n0\r\n\r\n'),
      ['PUT /files/a abc'],
    ],
    ['CHUNKED', () => put('transfer-encoding: CHUNKED\r\n', '3\r\nabc\r\n0\r\n\r\n'), ['PUT /files/a abc']],
    [
      'a chunk size with zeros before it',
      () => put('Transfer-Encoding: chunked\r\n', '0003\r\nabc\r\n0\r\n\r\n'),
      ['PUT /files/a abc'],
    ],
    ['a Content-Length with zeros before it', () => put('Content-Length: 0003\r\n', 'abc'), ['PUT /files/a abc']],
    [
      'trailers',
      () => put('Transfer-Encoding: chunked\r\n', '3\r\nabc\r\n0\r\nX-Account-Id: evil\r\n\r\n'),
      ['PUT /files/a abc'],
    ],
    // Section 2.2: an empty line before a request line should be ignored.
    ['empty lines before it', () => `\r\n\r\nGET /api/v1/open HTTP/1.1\r\n${head}\r\n`, ['GET /open']],
    // Section 3.2.2: the absolute form must be accepted.
    ['absolute-form', () => `GET http://api.example.com/api/v1/open?x HTTP/1.1\r\n${head}\r\n`, ['GET /open?x']],
    [
      'a body on GET that looks like a request',
      () => `GET /api/v1/open HTTP/1.1\r\n${head}Content-Length: 5\r\n\r\nGET /`,
      ['GET /open GET /'],
    ],
    [
      'two requests one behind the other',
      () => `${put('Content-Length: 3\r\n', 'abc')}GET /api/v1/open HTTP/1.1\r\n${head}\r\n`,
      ['PUT /files/a abc', 'GET /open'],
    ],
    // RFC 9110 section 7.8: an upgrade may be ignored.
    [
      'an upgrade to h2c',
      () =>
        `GET /api/v1/open HTTP/1.1\r\n${head}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
      ['GET /open'],
    ],
    // A name with an underscore is another name.
    [
      'Transfer_Encoding',
      () => put('Content-Length: 3\r\nTransfer_Encoding: chunked\r\n', 'abc'),
      ['PUT /files/a abc'],
    ],
  ])('%s', async (_what, bytes, expected) => {
    const { text, served } = await attempt(bytes(), expected.length);
    expect([...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status)).toEqual(expected.map(() => '200'));
    expect(served).toEqual(expected);
    for (const { headers, trailers } of gateway.backend.requests) {
      expect(headers['x-account-id']).toMatch(/^acc_/);
      expect(headers['upgrade'] ?? headers['http2-settings']).toBeUndefined();
      expect(trailers).toEqual({});
    }
  });
});
