/**
 * Clients that half-close a connection after the request still get their response. Clients that have disconnected hold
 * neither connections nor backend calls.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { json } from '../support/backend.js';
import { requestText, startEdge, TRANSPORTS, type Edge, type EdgeRequest, type Transport } from '../support/edge.js';
import { seriesOf } from '../support/metrics-text.js';
import { send } from '../support/http.js';
import { eventually, sleep } from '../support/processes.js';
import { parseAnswer } from '../support/problem.js';

/**
 * Response delay of the slow backend, in milliseconds. The gateway writes several bytes of the status line meanwhile.
 */
const SLOW_MS = 700;
const CONNECTIONS = 6;
const ROUNDS = 7;

let edge: Edge;

beforeAll(async () => {
  const timeouts = { firstByte: '20s', idle: '10m' };
  edge = await startEdge({
    // Starts its own gateways, because the test counts connections.
    own: true,
    backendOptions: { atOnce: true },
    config: { services: { backend: { connections: CONNECTIONS, accountShare: 1, timeouts } } },
  });
});
afterAll(() => edge.stop());
beforeEach(() => edge.answerWith(json({ ok: true })));

const answerSlowly = (): void =>
  edge.answerWith((request, response) => {
    request.resume();
    setTimeout(() => response.end('the whole of it'), SLOW_MS);
  });

type TcpTransport = Exclude<Transport, 'over HTTP/2'>;
const TCP_TRANSPORTS = TRANSPORTS.filter((transport): transport is TcpTransport => transport !== 'over HTTP/2');

/** Runs the check for each transport and case. The checks run in parallel, because all of them wait. */
async function overAllTransports<Case>(
  cases: readonly Case[],
  check: (transport: TcpTransport, each: Case) => Promise<void>,
) {
  await Promise.all(TCP_TRANSPORTS.flatMap((transport) => cases.map((each) => check(transport, each))));
}

/** Sends the requests in one write, and half-closes. Returns everything that arrives until the gateway closes. */
async function sendAndHalfClose(
  transport: TcpTransport,
  requests: readonly EdgeRequest[],
  pauseMs = 0,
): Promise<string> {
  const socket = await edge.openSocket(transport);
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
  socket.write(
    requests.map((request) => requestText(edge.gatewayFor(transport), transport, request)).join(''),
    'latin1',
  );
  if (pauseMs > 0) await sleep(pauseMs);
  socket.end();
  await once(socket, 'end');
  socket.destroy();
  return text;
}

const bodies = (text: string): string[] => text.split(/HTTP\/1\.1 200 OK\r\n[^]*?\r\n\r\n/).slice(1);

it('a client that half-closes after its request gets the complete response, and no byte twice', async () => {
  answerSlowly();
  await overAllTransports([0, 50], async (transport, pauseMs) => {
    const answer = parseAnswer(await sendAndHalfClose(transport, [{}], pauseMs));
    expect([transport, answer.status, answer.text]).toEqual([transport, 200, 'the whole of it']);
  });
});

it('a client that half-closes gets the response to a request with a body, and the error of a refused one', async () => {
  answerSlowly();
  const put = { method: 'PUT', target: '/api/v1/files/a', fields: ['Content-Length', '3'], body: 'abc' };
  await overAllTransports([put], async (transport) => {
    expect(parseAnswer(await sendAndHalfClose(transport, [put])).text).toBe('the whole of it');
    expect(edge.receivedRequests(transport)[0]).toMatchObject({ bodyBytes: 3 });
    expect(parseAnswer(await sendAndHalfClose(transport, [{ target: '/api/v1/nothing' }])).status).toBe(404);
    expect(parseAnswer(await sendAndHalfClose(transport, [{ method: 'FOO' }])).status).toBe(501);
  });
});

it('a client that half-closes after several pipelined requests gets all responses in order', async () => {
  edge.answerWith((request, response) => void setTimeout(() => response.end(`${request.url}`), SLOW_MS));
  const requests = ['1', '2', '3'].map((number) => ({ target: `/api/v1/open?${number}` }));
  await overAllTransports([requests], async (transport) => {
    expect(bodies(await sendAndHalfClose(transport, requests))).toEqual(['/open?1', '/open?2', '/open?3']);
  });
});

it('a chunked response arrives to its end if the client half-closes before or after it begins', async () => {
  edge.answerWith((_request, response) => {
    setTimeout(() => response.write('one '), 150);
    setTimeout(() => response.write('two '), 600);
    setTimeout(() => response.end('three'), 1_100);
  });
  await overAllTransports([0, 300], async (transport, pauseMs) => {
    const text = await sendAndHalfClose(transport, [{}], pauseMs);
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n$/);
  });
});

it('a response with Content-Length arrives whole after a half-close, despite pauses under one second', async () => {
  edge.answerWith((_request, response) => {
    response.writeHead(200, { 'Content-Length': '30000' });
    response.write('a'.repeat(20_000));
    setTimeout(() => response.write('b'.repeat(5_000)), 600);
    setTimeout(() => response.end('c'.repeat(5_000)), 1_200);
  });
  const whole = `${'a'.repeat(20_000)}${'b'.repeat(5_000)}${'c'.repeat(5_000)}`;
  await overAllTransports([0, 300], async (transport, pauseMs) => {
    expect(bodies(await sendAndHalfClose(transport, [{}], pauseMs))).toEqual([whole]);
  });
});

it.each(TCP_TRANSPORTS)(
  '%s: a client that disconnects frees its connection and its backend connection, whatever it waits for',
  async (transport) => {
    const connections = async (): Promise<number> =>
      seriesOf((await send(`${edge.gatewayFor(transport).trailgate.adminUrl}/metrics`)).text).get(
        'trailgate_connections',
      ) ?? NaN;
    const sendAndDisconnect = async (requests: readonly EdgeRequest[]): Promise<void> => {
      const sockets: Socket[] = await Promise.all(
        Array.from({ length: CONNECTIONS }, () => edge.openSocket(transport)),
      );
      const before = edge.receivedRequests(transport).length;
      for (const socket of sockets)
        socket.write(
          requests.map((request) => requestText(edge.gatewayFor(transport), transport, request)).join(''),
          'latin1',
        );
      await eventually(
        'the backend gets all requests',
        () => edge.receivedRequests(transport).length >= before + CONNECTIONS,
      );
      for (const socket of sockets) socket.destroy();
    };
    edge.answerWith(() => {});
    for (let round = 0; round < ROUNDS; round++) await sendAndDisconnect([{}]);
    await sendAndDisconnect([{}, { target: '/api/v1/open?behind' }]);
    edge.answerWith((_request, response) => void response.write('the first of it'));
    await sendAndDisconnect([{}]);
    await eventually('no connection is left', async () => (await connections()) === 0);
    edge.answerWith(json({ ok: true }));
    expect((await edge.sendRequest(transport)).status).toBe(200);
  },
);

it('a client that disconnects while a stream is silent ends the backend call', async () => {
  edge.answerWith((request, response) => {
    response.writeHead(200, request.url === '/open?known' ? { 'Content-Length': '100000' } : {});
    response.write('the first of it');
  });
  await overAllTransports(['/api/v1/open?known', '/api/v1/open?chunks'], async (transport, target) => {
    const socket = await edge.openSocket(transport);
    let text = '';
    socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
    socket.write(requestText(edge.gatewayFor(transport), transport, { target }), 'latin1');
    // Reads everything before closing. Closing with unread data sends a reset, which the gateway would notice without
    // probing.
    await eventually('the first part of the response arrives', () => text.includes('the first of it'));
    socket.destroy();
  });
  for (const transport of TCP_TRANSPORTS) {
    await eventually('the backend requests are aborted', () =>
      edge.receivedRequests(transport).every(({ aborted }) => aborted),
    );
  }
});
