/** Plain requests: which ones the parser accepts, and that it reads them exactly as Node's parser does. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, Socket, type AddressInfo } from 'node:net';
import { parsePlainRequest, type PlainRequest } from './plain-request.js';

const socket = new Socket();
const parsed = (text: string) => {
  const bytes = Buffer.from(text, 'latin1');
  return parsePlainRequest(bytes, bytes.length, socket);
};
/** Returns undefined for an incomplete request, too. */
const read = (text: string): PlainRequest | undefined => {
  const request = parsed(text);
  return typeof request === 'number' ? undefined : request;
};
const parse = (text: string) => read(text.replaceAll('\n', '\r\n'));
const GET = 'GET /a HTTP/1.1\nHost: h\n';

describe('a plain request', () => {
  it('has its method, its target and its field lines as sent', () => {
    const request = parse('DELETE /a/b?c[d]=%20,{|}^`\\ HTTP/1.1\nHost: h\nX-A: \t one  two \t\nx-a:\naccept:*/*\n\n');
    expect(request).toMatchObject({
      method: 'DELETE',
      url: '/a/b?c[d]=%20,{|}^`\\',
      httpVersion: '1.1',
      complete: true,
    });
    expect(request?.rawHeaders).toEqual(['Host', 'h', 'X-A', 'one  two', 'x-a', '', 'accept', '*/*']);
  });

  it('provides the known fields by name', () => {
    const names = ['authorization', 'forwarded', 'origin', 'te', 'traceparent', 'x-forwarded-for', 'x-forwarded-proto'];
    const request = parse(`${GET}${names.map((name) => `${name.toUpperCase()}: of ${name}\n`).join('')}\n`);
    expect(request?.headers).toMatchObject(Object.fromEntries(names.map((name) => [name, `of ${name}`])));
    expect(request?.headers.host).toBe('h');
    expect(request?.headers['content-length']).toBeUndefined();
  });

  it.each([
    ['keep-alive', true],
    ['Keep-Alive', true],
    ['close', false],
  ])('may have "Connection: %s"', (value, keepsAlive) => {
    expect(parse(`${GET}Connection: ${value}\n\n`)).toMatchObject({ keepsAlive });
  });
});

describe('a plain request with a body', () => {
  it.each(['POST', 'PUT', 'PATCH'])('of %s has the body as sent', (method) => {
    const body = '{"name":"\\u00e9\xe9\0"}\r\n\r\nGET /b HTTP/1.1';
    const head = `${method} /a HTTP/1.1\r\nHost: h\r\ncontent-length: ${body.length}\r\n\r\n`;
    const request = read(head + body);
    expect(request).toMatchObject({ method, complete: true, headers: { 'content-length': String(body.length) } });
    expect(request?.body?.toString('latin1')).toBe(body);
    expect(request?.bytes.toString('latin1')).toBe(head + body);
  });

  it('may have an empty one, and one of 16 KiB', () => {
    expect(parse('POST /a HTTP/1.1\nHost: h\nContent-Length: 0\n\n')?.body).toEqual(Buffer.alloc(0));
    const body = 'x'.repeat(16_384);
    expect(parse(`POST /a HTTP/1.1\nHost: h\nContent-Length: 16384\n\n${body}`)?.body?.length).toBe(16_384);
  });

  it('whose body is incomplete results in its expected length', () => {
    const head = 'POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n';
    expect(['', 'a', 'ab'].map((part) => parsed(head + part))).toEqual(Array(3).fill(head.length + 3));
    expect(parsed(`${head}abcd`)).toBeUndefined();
    expect(parsed(head.slice(0, -1))).toBeUndefined();
  });

  it('keeps its body when the read buffer is reused', () => {
    const bytes = Buffer.from('POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc');
    const request = parsePlainRequest(bytes, bytes.length, socket);
    bytes.fill('z');
    expect(request).toMatchObject({ body: Buffer.from('abc') });
  });
});

describe('a request that is not plain is left to Node', () => {
  it.each([
    ['nothing', ''],
    ['an empty line', '\n'],
    ['an empty line before it', `\n${GET}\n`],
    ['a part', 'GET /a HTTP/1.1\nHost: h\n'],
    ['a part of a line', 'GET /a HT'],
    ['two at once', `${GET}\n${GET}\n`],
    ['something behind it', `${GET}\nx`],
    ['a line end behind it', `${GET}\n\n`],
    ['another method', 'QUERY /a HTTP/1.1\nHost: h\nContent-Length: 0\n\n'],
    ['a body whose length nobody tells', 'POST /a HTTP/1.1\nHost: h\n\n'],
    ['a part of a body', 'POST /a HTTP/1.1\nHost: h\nContent-Length: 3\n\nab'],
    ['more than a body', 'POST /a HTTP/1.1\nHost: h\nContent-Length: 3\n\nabcd'],
    ['two lengths', 'POST /a HTTP/1.1\nHost: h\nContent-Length: 3\nContent-Length: 3\n\nabc'],
    ...['+3', '03', '3,3', '0x3', '3.0', '3 3', '', '-3', '1e0'].map((length): [string, string] => [
      `a length of "${length}"`,
      `POST /a HTTP/1.1\nHost: h\nContent-Length: ${length}\n\nabc`,
    ]),
    ['a larger body than usual', `POST /a HTTP/1.1\nHost: h\nContent-Length: 16385\n\n${'x'.repeat(16_385)}`],
    ['a coded body with a length', 'POST /a HTTP/1.1\nHost: h\nContent-Length: 3\nTransfer-Encoding: chunked\n\nabc'],
    ['HEAD, whose answer has no body', 'HEAD /a HTTP/1.1\nHost: h\n\n'],
    ['a method in lower case', 'get /a HTTP/1.1\nHost: h\n\n'],
    ['a target that is no path', 'GET http://h/a HTTP/1.1\nHost: h\n\n'],
    ['a target with a space', 'GET /a b HTTP/1.1\nHost: h\n\n'],
    ['two spaces', 'GET  /a HTTP/1.1\nHost: h\n\n'],
    ['a space behind the version', 'GET /a HTTP/1.1 \nHost: h\n\n'],
    ['a fragment', 'GET /a#b HTTP/1.1\nHost: h\n\n'],
    ...[...'"<>'].map((unfit): [string, string] => [
      `a query with ${unfit}`,
      `GET /a?b=${unfit} HTTP/1.1\nHost: h\n\n`,
    ]),
    ['a target beyond ASCII', 'GET /\u00e9 HTTP/1.1\nHost: h\n\n'],
    ['a control character in the target', 'GET /\u0001 HTTP/1.1\nHost: h\n\n'],
    ['no version', 'GET /a\nHost: h\n\n'],
    ['HTTP/1.0', 'GET /a HTTP/1.0\nHost: h\n\n'],
    ['HTTP/1.2', 'GET /a HTTP/1.2\nHost: h\n\n'],
    ['a field without a colon', `${GET}X\n\n`],
    ['a space before the colon', `${GET}X : 1\n\n`],
    ['a field without a name', `${GET}: 1\n\n`],
    ['a line that goes on in the next', `${GET}X: 1\n 2\n\n`],
    ['a control character in a value', `${GET}X: \u0000\n\n`],
    ['a second Host', `${GET}host: i\n\n`],
    ['a second key', `${GET}Authorization: a\nauthorization: a\n\n`],
    ['a second X-Forwarded-For', `${GET}X-Forwarded-For: a\nX-Forwarded-For: b\n\n`],
    ['a length', `${GET}Content-Length: 0\n\n`],
    ['a transfer coding', `${GET}Transfer-Encoding: chunked\n\n`],
    ['an expectation', `${GET}Expect: 100-continue\n\n`],
    ['an upgrade', `${GET}Upgrade: websocket\nConnection: upgrade\n\n`],
    ['a second Connection', `${GET}Connection: keep-alive\nConnection: close\n\n`],
    ['a connection that ends in its own way', `${GET}Connection: Close\n\n`],
    ['a field that belongs to the connection', `${GET}Connection: keep-alive, x\n\n`],
    ['a connection field of old', `${GET}Proxy-Connection: keep-alive\n\n`],
    ['more fields than usual', `${GET}${'X: 1\n'.repeat(100)}\n`],
    ['a head longer than usual', `${GET}X: ${'1'.repeat(8_192)}\n\n`],
  ])('%s', (_what, text) => {
    expect(parse(text)).toBeUndefined();
  });

  it('a line that ends with LF or CR alone', () => {
    for (const text of [
      'GET /a HTTP/1.1\nHost: h\r\n\r\n',
      'GET /a HTTP/1.1\r\nHost: h\nX: 1\r\n\r\n',
      'GET /a HTTP/1.1\r\nHost: h\rX: 1\r\n\r\n',
      'GET /a HTTP/1.1\r\nHost: h\n\n',
    ])
      expect(read(text)).toBeUndefined();
  });
});

describe('compared with Node', () => {
  const HISTORIES = 2_000;
  let server: Server;
  let port: number;
  /** The last request that Node has read. */
  let seen: IncomingMessage | undefined;
  let requests = 0;

  beforeAll(async () => {
    server = createServer({ requireHostHeader: false }, (message, response) => {
      seen = message;
      requests++;
      response.end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  afterAll(() => void server.close());

  /** Parses a text with Node's parser. Returns undefined if Node rejects it. */
  function readByNode(text: string): IncomingMessage | undefined {
    seen = undefined;
    requests = 0;
    // Calls Node's connection listener directly, without a network connection.
    const fake = new Socket();
    server.once('clientError', () => undefined);
    server.emit('connection', fake);
    fake.emit('data', Buffer.from(text, 'latin1'));
    fake.destroy();
    server.removeAllListeners('clientError');
    return seen;
  }

  it(`accepts nothing that Node rejects, and reads the same (${HISTORIES} texts, most of them almost valid)`, () => {
    let state = 0x2f6e2b1;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T;
    const PIECES = [
      '\r',
      '\n',
      '\r\n',
      ' ',
      '\t',
      ':',
      '\0',
      '\x7f',
      '\xa0',
      '\xff',
      'Host: i\r\n',
      'TE: x\r\n',
      '#',
      '|',
      '?"',
      '%',
      ';',
      ',',
    ];
    const FIELDS = [
      'Host: h',
      'Authorization: Bearer x',
      'X-Request-Id: 1',
      'Accept: */*',
      'Cookie: a=b; c=d',
      'Origin: https://p',
      'Connection: keep-alive',
      'Connection: close',
      'X-Empty:',
      'X-Latin: \xe9',
      'X-Request-Id: \xa01\xa0',
      'Content-Length: 0',
      'content-length:  3 ',
      'TE: trailers',
    ];
    let plain = 0;
    let withBody = 0;
    for (let round = 0; round < HISTORIES; round++) {
      const fields = Array.from({ length: random(6) }, () => `${pick(FIELDS)}\r\n`).join('');
      const verb = pick(['GET', 'DELETE', 'POST', 'PUT', 'PATCH', 'GE', 'PO']);
      const body = verb.startsWith('P') ? pick(['', 'abc', '0\r\n\r\n']) : '';
      const length = verb.startsWith('P') && random(4) > 0 ? `Content-Length: ${body.length}\r\n` : '';
      const target = pick(['/', '/a?b', '/a?b[c]=%', '/%00', '*']);
      let text = `${verb} ${target} HTTP/1.1\r\nHost: h\r\n${length}${fields}\r\n${body}`;
      for (let edits = random(3); edits > 0; edits--) {
        const at = random(text.length);
        text = text.slice(0, at) + pick(PIECES) + text.slice(at + random(3));
      }
      const request = read(text);
      if (request === undefined) continue;
      plain++;
      const message = readByNode(text);
      const { method, url, rawHeaders, headers, httpVersion } = message ?? {};
      // Node has read exactly one request.
      expect({ text, requests, body: String(message?.read() ?? '') }).toEqual({
        text,
        requests: 1,
        body: String(request.body ?? ''),
      });
      if (request.body !== undefined && request.body.length > 0) withBody++;
      expect({ text, method, url, rawHeaders, httpVersion }).toEqual({
        text,
        method: request.method,
        url: request.url,
        rawHeaders: request.rawHeaders,
        httpVersion: request.httpVersion,
      });
      for (const [name, value] of Object.entries(request.headers))
        expect([name, headers?.[name]]).toEqual([name, value]);
    }
    expect(plain).toBeGreaterThan(HISTORIES / 20);
    expect(withBody).toBeGreaterThan(HISTORIES / 200);
  });

  it('a request of an ordinary client is read by Node', async () => {
    const client = connect(port, '127.0.0.1');
    client.write('GET /a HTTP/1.1\r\nHost: h\r\n\r\n');
    await once(client, 'data');
    client.destroy();
    expect(seen?.url).toBe('/a');
  });
});
