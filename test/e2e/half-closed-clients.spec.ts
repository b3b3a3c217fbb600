/** Clients that close their side of a connection behind their request: they get their response. Those that have gone hold nothing. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { json } from '../support/backend.js';
import { requestText, startEdge, WAYS, type Edge, type EdgeRequest, type Way } from '../support/edge.js';
import { seriesOf } from '../support/metrics-text.js';
import { send } from '../support/http.js';
import { eventually, sleep } from '../support/processes.js';
import { parseAnswer } from '../support/problem.js';

/** Several of the bytes that are written ahead. */
const SLOW_MS = 700;
const CONNECTIONS = 6;
const ROUNDS = 7;

let edge: Edge;

beforeAll(async () => {
  const timeouts = { firstByte: '20s', idle: '10m' };
  edge = await startEdge({
    // Its connections are counted.
    own: true,
    backendOptions: { atOnce: true },
    config: { services: { backend: { connections: CONNECTIONS, accountShare: 1, timeouts } } },
  });
});
afterAll(() => edge.stop());
beforeEach(() => edge.answerWith(json({ ok: true })));

const slowly = (): void =>
  edge.answerWith((request, response) => {
    request.resume();
    setTimeout(() => response.end('the whole of it'), SLOW_MS);
  });

type TcpWay = Exclude<Way, 'over HTTP/2'>;
const TCP_WAYS = WAYS.filter((way): way is TcpWay => way !== 'over HTTP/2');

/** Tries it in every way and with each of these at a time: all wait for the same time to pass. */
async function inAllWays<Case>(cases: readonly Case[], check: (way: TcpWay, each: Case) => Promise<void>) {
  await Promise.all(TCP_WAYS.flatMap((way) => cases.map((each) => check(way, each))));
}

/** Sends the requests in one piece, closes this side, and returns all that comes until the other one is closed. */
async function halfClosed(way: TcpWay, requests: readonly EdgeRequest[], pauseMs = 0): Promise<string> {
  const socket = await edge.connect(way);
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
  socket.write(requests.map((request) => requestText(edge.of(way), way, request)).join(''), 'latin1');
  if (pauseMs > 0) await sleep(pauseMs);
  socket.end();
  await once(socket, 'end');
  socket.destroy();
  return text;
}

const bodies = (text: string): string[] => text.split(/HTTP\/1\.1 200 OK\r\n[^]*?\r\n\r\n/).slice(1);

it('a client that closes its side behind its request gets the response, and no byte of it twice', async () => {
  slowly();
  await inAllWays([0, 50], async (way, pauseMs) => {
    const answer = parseAnswer(await halfClosed(way, [{}], pauseMs));
    expect([way, answer.status, answer.text]).toEqual([way, 200, 'the whole of it']);
  });
});

it('also with a body, and where the request is refused', async () => {
  slowly();
  const put = { method: 'PUT', target: '/api/v1/files/a', fields: ['Content-Length', '3'], body: 'abc' };
  await inAllWays([put], async (way) => {
    expect(parseAnswer(await halfClosed(way, [put])).text).toBe('the whole of it');
    expect(edge.received(way)[0]).toMatchObject({ bodyBytes: 3 });
    expect(parseAnswer(await halfClosed(way, [{ target: '/api/v1/nothing' }])).status).toBe(404);
    expect(parseAnswer(await halfClosed(way, [{ method: 'FOO' }])).status).toBe(501);
  });
});

it('one with several requests gets all the responses, in their order', async () => {
  edge.answerWith((request, response) => void setTimeout(() => response.end(`${request.url}`), SLOW_MS));
  const requests = ['1', '2', '3'].map((number) => ({ target: `/api/v1/open?${number}` }));
  await inAllWays([requests], async (way) => {
    expect(bodies(await halfClosed(way, requests))).toEqual(['/open?1', '/open?2', '/open?3']);
  });
});

it('a stream that had begun, or begins then, arrives to its end', async () => {
  edge.answerWith((_request, response) => {
    setTimeout(() => response.write('one '), 150);
    setTimeout(() => response.write('two '), 600);
    setTimeout(() => response.end('three'), 1_100);
  });
  await inAllWays([0, 300], async (way, pauseMs) => {
    const text = await halfClosed(way, [{}], pauseMs);
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n$/);
  });
});

it('so does one whose length is known, in which nothing comes for less than a second at a time', async () => {
  edge.answerWith((_request, response) => {
    response.writeHead(200, { 'Content-Length': '30000' });
    response.write('a'.repeat(20_000));
    setTimeout(() => response.write('b'.repeat(5_000)), 600);
    setTimeout(() => response.end('c'.repeat(5_000)), 1_200);
  });
  const whole = `${'a'.repeat(20_000)}${'b'.repeat(5_000)}${'c'.repeat(5_000)}`;
  await inAllWays([0, 300], async (way, pauseMs) => {
    expect(bodies(await halfClosed(way, [{}], pauseMs))).toEqual([whole]);
  });
});

it.each(TCP_WAYS)(
  '%s: a client that has gone holds neither a backend nor a connection, whatever it was to get',
  async (way) => {
    const connections = async (): Promise<number> =>
      seriesOf((await send(`${edge.of(way).trailgate.adminUrl}/metrics`)).text).get('trailgate_connections') ?? NaN;
    const leave = async (requests: readonly EdgeRequest[]): Promise<void> => {
      const sockets: Socket[] = await Promise.all(Array.from({ length: CONNECTIONS }, () => edge.connect(way)));
      const before = edge.received(way).length;
      for (const socket of sockets)
        socket.write(requests.map((request) => requestText(edge.of(way), way, request)).join(''), 'latin1');
      await eventually('the backend has all', () => edge.received(way).length >= before + CONNECTIONS);
      for (const socket of sockets) socket.destroy();
    };
    edge.answerWith(() => {});
    for (let round = 0; round < ROUNDS; round++) await leave([{}]);
    await leave([{}, { target: '/api/v1/open?behind' }]);
    edge.answerWith((_request, response) => void response.write('the first of it'));
    await leave([{}]);
    await eventually('nothing is left', async () => (await connections()) === 0);
    edge.answerWith(json({ ok: true }));
    expect((await edge.ask(way)).status).toBe(200);
  },
);

it('nor does one that goes in the middle of a stream that is silent then', async () => {
  edge.answerWith((request, response) => {
    response.writeHead(200, request.url === '/open?known' ? { 'Content-Length': '100000' } : {});
    response.write('the first of it');
  });
  await inAllWays(['/api/v1/open?known', '/api/v1/open?chunks'], async (way, target) => {
    const socket = await edge.connect(way);
    let text = '';
    socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
    socket.write(requestText(edge.of(way), way, { target }), 'latin1');
    // What has not been read would make a reset of its end, which nobody has to ask for.
    await eventually('it has the beginning', () => text.includes('the first of it'));
    socket.destroy();
  });
  for (const way of TCP_WAYS) {
    await eventually('the backend is let go', () => edge.received(way).every(({ aborted }) => aborted));
  }
});
