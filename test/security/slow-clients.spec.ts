/** Attack: connections that send their headers slowly or never, to use up the resources of the gateway. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { quietMsSince } from '../support/machine-time.js';
import { expectProblem, parseAnswer } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

/** The gateway allows ten seconds for headers, and checks every two seconds. */
const LONGEST_MS = 13_000;

let gateway: Proxied;

beforeAll(async () => {
  gateway = await startProxied();
});
afterAll(() => gateway.stop());

/** Sends one piece each half second. Returns the response and the duration of the connection. */
async function drip(pieces: readonly string[]): Promise<{ text: string; quietMs: number }> {
  const startedMs = performance.now();
  const socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
  socket.on('error', () => {});
  let at = 0;
  const timer = setInterval(() => {
    const piece = pieces[at++];
    if (socket.writable && piece !== undefined) socket.write(piece);
  }, 500);
  let text = '';
  socket.on('data', (data: string) => (text += data));
  await once(socket, 'close');
  clearInterval(timer);
  return { text, quietMs: quietMsSince(startedMs) };
}

it('incomplete headers get 408 within 13 seconds, while others are served', async () => {
  const slow = [
    drip([
      `GET /api/v1/open HTTP/1.1\r\nHost: a\r\n`,
      ...Array.from({ length: 100 }, (_, index) => `X-${index}: a\r\n`),
    ]),
    drip([...'GET /api/v1/open HTTP/1.1\r\nHost: a\r\nX: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy']),
    drip(['GET /api/v1/open HTTP/1.1\r\nHost: a\r\n']),
  ];
  const crowd = Array.from({ length: 200 }, () =>
    connect(gateway.port, '127.0.0.1')
      .on('error', () => {})
      .resume(),
  );
  for (const socket of crowd) socket.write('GET / HTTP/1.1\r\nX: ');
  for (let index = 0; index < 10; index++) expect((await gateway.send('/open', { timeoutMs: 1_000 })).status).toBe(200);

  for (const { text, quietMs } of await Promise.all(slow)) {
    expectProblem(parseAnswer(text), 'request_timeout');
    expect(parseAnswer(text).headers['connection']).toBe('close');
    expect(quietMs).toBeLessThan(LONGEST_MS);
  }
  await eventually('all of them are cut', () => crowd.every(({ closed }) => closed), LONGEST_MS);
  expect(gateway.backend.requests).toHaveLength(10);
});
