/** Attack: `CONNECT`, and a reset at once. Node lets go of the connection, so that its error is nobody's; it must not end the process. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect } from 'node:net';
import { sleep } from '../support/processes.js';
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
])('a CONNECT %s', async (_what, rest) => {
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
