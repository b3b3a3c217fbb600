/**
 * Attack: a backend that responds with almost valid bytes, split anywhere. Our parser reads them as the strict parser
 * of node:http does, or refuses them. Two different readings would let one caller get the response of another. Three
 * times TRAILGATE_TEST_HISTORIES responses are sent. TRAILGATE_TEST_SEED repeats them.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Framing } from '../../src/http/backend/response-head.js';
import { ChunkedBody } from '../../src/http/backend/chunked-body.js';
import { ConnectionPool } from '../../src/http/backend/connection-pool.js';
import { Connector } from '../../src/http/backend/connector.js';
import { fieldsOfLines } from '../../src/http/grammar/fields.js';
import { announceHistories, HISTORIES_TIMEOUT_MS, RUNS } from '../support/histories.js';
import { RecordedCall } from '../support/recorded-call.js';

/** A response as a parser reads it. */
interface Reading {
  readonly status: number;
  readonly fields: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
  readonly interim: readonly number[];
}

interface History {
  readonly answer: string;
  readonly cuts: readonly number[];
  readonly method: string;
}

const pick = (...values: string[]): fc.Arbitrary<string> => fc.constantFrom(...values);
const mostly = (usual: fc.Arbitrary<string>, ...odd: string[]): fc.Arbitrary<string> =>
  fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: pick(...odd) });

const lineEnd = mostly(pick('\r\n'), '\n', '\r', '\r\r\n', '\r\n ', '\r\n\r\n', '');
const statusLine = fc.tuple(
  mostly(pick('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0'), 'HTTP/2', 'HTTP/1.2', 'http/1.1', 'ICY', '\r\nHTTP/1.1'),
  mostly(
    pick(' 200', ' 200', ' 204', ' 304', ' 404', ' 500'),
    '  200',
    ' 20',
    ' 2000',
    '\t200',
    ' 099',
    ' 999',
    ' 205',
  ),
  mostly(pick(' OK', '', ' ', ' Tr\u00e8s bien'), '\0', ' O\rK', ' a\x7f'),
);
const field = fc.tuple(
  mostly(
    pick('X-A', 'x-b', 'Set-Cookie', 'Content-Type', 'Connection', 'Keep-Alive'),
    'X A',
    'X-A ',
    '',
    ' X',
    'X\0',
    'X-\u00c4',
  ),
  mostly(pick(':', ': ', ':\t', ': \t '), ' :', '', '\r\n: '),
  mostly(
    pick('a', '', 'close', 'keep-alive', 'timeout=5', 'caf\u00e9', 'a, b'),
    'a\0',
    'a\rb',
    'a\nb',
    'a\x7f',
    'a\r\n b',
    'a\x0b',
  ),
  lineEnd,
);
const lengthField = (length: number): fc.Arbitrary<string> =>
  mostly(
    pick(`Content-Length: ${length}\r\n`, `content-length:${length}\r\n`, `Content-Length: 0${length}\r\n`),
    `Content-Length: ${length + 1}\r\n`,
    `Content-Length: ${Math.max(0, length - 1)}\r\n`,
    `Content-Length: +${length}\r\n`,
    `Content-Length : ${length}\r\n`,
    `Content-Length: ${length}, ${length}\r\n`,
    `Content-Length: ${length}\r\nContent-Length: ${length}\r\n`,
    `Content-Length: ${length}\r\nTransfer-Encoding: chunked\r\n`,
    `Content-Length: 0x${length}\r\n`,
    '',
  );
const CODING = mostly(
  pick('Transfer-Encoding: chunked\r\n', 'transfer-encoding:Chunked\r\n'),
  'Transfer-Encoding: gzip, chunked\r\n',
  'Transfer-Encoding: chunked, identity\r\n',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n',
  'Transfer-Encoding: xchunked\r\n',
  'Transfer-Encoding : chunked\r\n',
  'Transfer-Encoding:\x0bchunked\r\n',
  'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n',
);
const content = fc.oneof(
  pick('', 'hello', '\r\n', '0\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', '\0\xff'),
  fc.nat(300).map((length) => 'x'.repeat(length)),
);
const chunk = fc
  .tuple(
    content,
    mostly(pick('', ';a', ';a=b;c="d"'), ' ', ';', ';a\n', ';a\rb', '\t;'),
    lineEnd,
    lineEnd,
    mostly(pick('', '0'), '0x', '+', '-', ' '),
  )
  .map(([data, extension, first, second, prefix]) =>
    data === '' ? '' : `${prefix}${data.length.toString(16)}${extension}${first}${data}${second}`,
  );
const trailer = mostly(
  pick('', 'X-T: b\r\n', 'X-T: b\r\nX-U:\r\n'),
  'X-T : b\r\n',
  'X-T\r\n',
  'X-T: b\n',
  'X-T: b\r\n c\r\n',
  'X-T: \0\r\n',
);
const chunks = fc
  .tuple(fc.array(chunk, { maxLength: 4 }), trailer, lineEnd, mostly(pick('0'), '00', '', '0;a', '0 '))
  .map(([pieces, trailers, last, zero]) => `${pieces.join('')}${zero}\r\n${trailers}${last}`);
const framed = fc.oneof(
  { weight: 4, arbitrary: content.chain((body) => lengthField(body.length).map((line) => [line, body] as const)) },
  { weight: 4, arbitrary: fc.tuple(CODING, chunks) },
  { weight: 1, arbitrary: fc.tuple(fc.constant(''), content) },
);
const interimAnswer = mostly(
  pick('', '', '', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n'),
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n',
);
const answer = fc
  .tuple(
    interimAnswer,
    statusLine,
    fc.array(field, { maxLength: 4 }),
    framed,
    lineEnd,
    mostly(pick(''), 'more', '\r\n', 'HTTP/1.1 200 OK\r\n\r\n'),
  )
  .map(([before, status, fields, [framing, body], blank, behind]) => {
    const lines = fields.map((parts) => parts.join('')).join('');
    return `${before}${status.join('')}\r\n${lines}${framing}${blank}${body}${behind}`;
  });
const history: fc.Arbitrary<History> = fc.record({
  answer: fc.oneof(
    { weight: 6, arbitrary: answer },
    // Cut off anywhere, or with one byte changed.
    { weight: 1, arbitrary: fc.tuple(answer, fc.nat(400)).map(([text, at]) => text.slice(0, at)) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(answer, fc.nat(400), fc.integer({ min: 0, max: 255 }))
        .map(([text, at, code]) => text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1)),
    },
  ),
  cuts: fc.array(fc.nat(400), { maxLength: 3 }),
  method: pick('GET', 'GET', 'GET', 'HEAD'),
});

let server: Server;
let port: number;
let next: History;
const open = new Set<Socket>();

beforeAll(async () => {
  announceHistories('answers of a backend');
  server = createServer((socket) => {
    open.add(socket.setNoDelay(true));
    socket.on('error', () => {});
    socket.on('close', () => open.delete(socket));
    socket.once('data', () => void write(socket, next));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  for (const socket of open) socket.destroy();
  server.close();
});

/** Writes a response in pieces, each in its own packet, and ends. */
async function write(socket: Socket, { answer: text, cuts }: History): Promise<void> {
  const edges = [...new Set([...cuts.filter((at) => at < text.length), text.length])].toSorted((a, b) => a - b);
  let from = 0;
  for (const to of edges) {
    if (from > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    if (socket.writable) socket.write(text.slice(from, to), 'latin1');
    from = to;
  }
  socket.end();
}

async function ours(method: string): Promise<RecordedCall> {
  const connector = new Connector({
    origin: `http://127.0.0.1:${port}`,
    timeoutMs: 5_000,
    lookup: undefined,
    tls: () => ({}),
  });
  const pool = new ConnectionPool(connector, { host: 'a', maxConnections: 1, idleMs: 4_000 });
  const call = new RecordedCall({ method });
  pool.dispatch(call);
  await call.over;
  await pool.destroy();
  return call;
}

/** Returns the reading of the same bytes by node:http; undefined if it refuses them. */
function oracle(method: string): Promise<Reading | undefined> {
  return new Promise((resolve) => {
    const interims: number[] = [];
    const asked = request({
      port,
      host: '127.0.0.1',
      method,
      agent: false,
      createConnection: () => connect(port, '127.0.0.1'),
    });
    asked.on('information', ({ statusCode }) => interims.push(statusCode));
    asked.on('error', () => resolve(undefined));
    asked.on('upgrade', (_response, socket) => {
      socket.destroy();
      resolve(undefined);
    });
    asked.on('response', (response) => {
      const pieces: Buffer[] = [];
      response.on('error', () => resolve(undefined));
      response.on('aborted', () => resolve(undefined));
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => {
        if (!response.complete) resolve(undefined);
        resolve({
          status: response.statusCode ?? 0,
          fields: response.statusCode === 204 ? withoutLength(response.rawHeaders) : response.rawHeaders,
          body: Buffer.concat(pieces).toString('latin1'),
          trailers: response.rawTrailers,
          interim: interims,
        });
      });
    });
    asked.end();
  });
}

/** Removes Content-Length, which our parser omits from a 204. A 204 must not have it. */
const withoutLength = (fields: readonly string[]): string[] =>
  fields.filter((_, at) => fields[at - (at % 2)]?.toLowerCase() !== 'content-length');

const reading = (call: RecordedCall): Reading => ({
  status: call.head?.status ?? 0,
  fields: fieldsOfLines(call.head?.lines ?? ''),
  body: call.text,
  trailers: fieldsOfLines(call.trailerText),
  interim: call.interim,
});

/** Returns a response without the bytes after it. node:http refuses both together, and we close the connection. */
function ownBytes(text: string, { head, interim }: RecordedCall): string {
  let at = 0;
  for (let heads = 0; heads <= interim.length; heads++) at = text.indexOf('\r\n\r\n', at) + 4;
  if (head?.framing === Framing.None) return text.slice(0, at);
  if (head?.framing === Framing.Length) return text.slice(0, at + head.contentLength);
  if (head?.framing === Framing.Close) return text;
  return text.slice(
    0,
    new ChunkedBody().decode(Buffer.from(text, 'latin1'), at, text.length, () => {}),
  );
}

it(
  'a backend response is read as the strict parser of node:http reads it, or refused',
  async () => {
    const counts = { accepted: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(history, async (one) => {
        next = one;
        const call = await ours(one.method);
        expect([call.ends, call.breaches]).toEqual([1, []]);
        if (call.error !== undefined) {
          counts.refused++;
          return;
        }
        counts.accepted++;
        next = { ...one, answer: ownBytes(one.answer, call) };
        expect(reading(call)).toEqual(await oracle(one.method));
      }),
      { ...RUNS, numRuns: 3 * RUNS.numRuns },
    );
    // Both kinds must occur, or the test checks nothing.
    expect(counts.accepted).toBeGreaterThan(RUNS.numRuns / 4);
    expect(counts.refused).toBeGreaterThan(RUNS.numRuns / 4);
  },
  HISTORIES_TIMEOUT_MS,
);
