/** Attack: `CONNECT` and an immediate reset. Node detaches the socket, and its error must not end the process. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect } from 'node:net';
import { eventually, sleep } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

let gateway: Proxied;

beforeAll(async () => {
  gateway = await startProxied();
});
afterAll(() => gateway.stop());

it.each([
  ['alone', '\r\n'],
  ['with half a body', 'Content-Length: 10\r\n\r\nabc'],
  ['with bytes behind it', '\r\nabc'],
])('a reset after a CONNECT %s does not crash the process', async (_what, rest) => {
  for (const afterMs of [0, 0, 0, 1, 5, 30]) {
    const socket = connect(Number(new URL(gateway.trailgate.gatewayUrl).port), '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.write(`CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n${rest}`);
    if (afterMs > 0) await sleep(afterMs);
    socket.resetAndDestroy();
  }
  await sleep(50);
  expect((await gateway.send('/open')).status).toBe(200);
  expect(gateway.trailgate.logs().filter(({ event }) => event === 'crash')).toEqual([]);
});

it('a reset after requests and a CONNECT ends each pending request with 499', async () => {
  gateway.answerWith(() => undefined);
  const ids = ['first', 'second', 'third'];
  const fields = `Host: a\r\nAuthorization: ${gateway.authorization}\r\n`;
  const requests = ids.map((id) => `GET /api/v1/open HTTP/1.1\r\n${fields}X-Request-Id: ${id}\r\n\r\n`);
  const socket = connect(gateway.port, '127.0.0.1');
  socket.write(`${requests.join('')}CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n`);
  await eventually('the backend has them', () => gateway.backend.requests.length === ids.length);
  socket.resetAndDestroy();
  await eventually('the backend is told of their end', () => gateway.backend.requests.every(({ aborted }) => aborted));
  const ended = () => gateway.trailgate.logs().filter((line) => ids.includes(String(line['request_id'])));
  await eventually('each has its line', () => ended().length === ids.length);
  expect(ended().map(({ status }) => status)).toEqual([499, 499, 499]);
});
