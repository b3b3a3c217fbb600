/**
 * Unusual client requests do not leak a backend connection. If each leaked one, a pool of eight connections would stop
 * serving after eight requests.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { startProxied, type Proxied } from '../support/proxied.js';

const CONNECTIONS = 8;
const TIMES = 25;

let gateway: Proxied;
let head: string;

beforeAll(async () => {
  gateway = await startProxied({ config: { services: { backend: { connections: CONNECTIONS } } } });
  head = `Host: a\r\nAuthorization: ${gateway.authorization}\r\nConnection: close\r\n`;
});
afterAll(() => gateway.stop());
beforeEach(() => void (gateway.backend.requests.length = 0));

const request = (start: string, fields = '', body = ''): string => `${start} HTTP/1.1\r\n${head}${fields}\r\n${body}`;

/** Requests that an HTTP client library might refuse to send. */
const SHAPES: readonly [string, () => string][] = [
  ['the path *', () => request('GET *')],
  ['OPTIONS *', () => request('OPTIONS *')],
  ['an empty query', () => request('GET /api/v1/open?')],
  ['bytes beyond ASCII in the query', () => request('GET /api/v1/open?\xff\x80')],
  ['a space in the path', () => request('GET /api/v1/op en')],
  ['a control character in the path', () => request('GET /api/v1/open\x01')],
  ['a fragment', () => request('GET /api/v1/open#x')],
  ['the absolute form', () => request('GET http://a/api/v1/open')],
  ['two Hosts', () => request('GET /api/v1/open', 'Host: b\r\n')],
  ['CONNECT', () => request('CONNECT a:80')],
  ['a method that is none', () => request('G@T /api/v1/open')],
  ['a method in lower case', () => request('get /api/v1/open')],
  ['a method with a dash', () => request('M-SEARCH /api/v1/open')],
  [
    'Transfer-Encoding',
    () => request('POST /api/v1/customers', 'Transfer-Encoding: chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'),
  ],
  ['Transfer-Encoding on a GET', () => request('GET /api/v1/open', 'Transfer-Encoding: chunked\r\n', '0\r\n\r\n')],
  ['Transfer_Encoding', () => request('GET /api/v1/open', 'Transfer_Encoding: chunked\r\n')],
  ['Content-Length of zero on a GET', () => request('GET /api/v1/open', 'Content-Length: 0\r\n')],
  ['a Content-Length with zeros', () => request('POST /api/v1/customers', 'Content-Length: 0002\r\n', '{}')],
  ['a Content-Length of many zeros', () => request('POST /api/v1/customers', 'Content-Length: 00\r\n')],
  ['a Content-Length that is none', () => request('POST /api/v1/customers', 'Content-Length: two\r\n', '{}')],
  ['a body on HEAD', () => request('HEAD /api/v1/open', 'Content-Length: 2\r\n', '{}')],
  ['a body on DELETE', () => request('DELETE /api/v1/customers/1', 'Content-Length: 2\r\n', '{}')],
  ['Expect', () => request('POST /api/v1/customers', 'Expect: 100-continue\r\nContent-Length: 2\r\n', '{}')],
  ['another expectation', () => request('POST /api/v1/customers', 'Expect: miracle\r\nContent-Length: 2\r\n', '{}')],
  ['Upgrade', () => request('GET /api/v1/open', 'Connection: Upgrade\r\nUpgrade: websocket\r\n')],
  ['an empty Upgrade', () => request('GET /api/v1/open', 'Upgrade:\r\n')],
  ['Connection with anything in it', () => request('GET /api/v1/open', 'Connection: foo, ,, host\r\n')],
  ['Keep-Alive, TE and Trailer', () => request('GET /api/v1/open', 'Keep-Alive: x\r\nTE: trailers\r\nTrailer: x\r\n')],
  ['HTTP2-Settings', () => request('GET /api/v1/open', 'HTTP2-Settings: AAMAAABk\r\n')],
  ['an empty value', () => request('GET /api/v1/open', 'X-Empty:\r\nX-Space:   \r\n')],
  ['bytes beyond ASCII in a value', () => request('GET /api/v1/open', 'X-Bytes: \x80\xff\xc3\xa9\r\n')],
  ['a tab in a value', () => request('GET /api/v1/open', 'X-Tab: a\tb\r\n')],
  ['control characters in a value', () => request('GET /api/v1/open', 'X-Control: a\x01\x7fb\r\n')],
  ['a zero byte in a value', () => request('GET /api/v1/open', 'X-Zero: a\0b\r\n')],
  ['an odd name', () => request('GET /api/v1/open', "!#$%&'*+-.^_`|~0: x\r\n")],
  ['names of object members', () => request('GET /api/v1/open', '__proto__: x\r\nconstructor: y\r\ntoString: z\r\n')],
  ['a thousand fields', () => request('GET /api/v1/open', 'a: b\r\n'.repeat(1_000))],
  [
    'a field that repeats',
    () => request('GET /api/v1/open', 'Content-Type: a\r\nContent-Type: b\r\nAccept: c\r\nAccept: d\r\n'),
  ],
  ['HTTP/1.0', () => `GET /api/v1/open HTTP/1.0\r\n${head}\r\n`],
];

it.each(SHAPES)(
  `${TIMES} requests with %s are all answered, and every connection still serves requests`,
  async (_what, shape) => {
    const answers = await Promise.all(Array.from({ length: TIMES }, () => gateway.raw(shape(), 3_000)));
    for (const text of answers)
      expect(text).toMatch(/^HTTP\/1\.1 (?:100 Continue\r\n\r\nHTTP\/1\.1 )?(?:20[04]|40[045]|431|501) /);
    const after = await Promise.all(
      Array.from({ length: 2 * CONNECTIONS }, () => gateway.send('/open', { timeoutMs: 3_000 })),
    );
    expect(after.map(({ status }) => status)).toEqual(Array.from({ length: 2 * CONNECTIONS }, () => 200));
  },
);

it('every request that is answered with 200 reaches the backend once', async () => {
  const answers = await Promise.all(SHAPES.map(([, shape]) => gateway.raw(shape(), 3_000)));
  const served = answers.filter((text) => /HTTP\/1\.1 200 /.test(text));
  expect(served.length).toBeGreaterThan(10);
  expect(gateway.backend.requests).toHaveLength(served.length);
});
