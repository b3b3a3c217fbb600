/**
 * Attack: clients that upload and reset the connection before the gateway handles the request. The gateway no longer
 * reads from such a connection, so it could miss the reset.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually, sleep } from '../support/processes.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

/** More than Node reads ahead. */
const BODY = 'y'.repeat(300_000);
const TIMES = 60;

let gateway: OwnProxied;
beforeAll(async () => {
  gateway = await startProxied({ own: true });
});
afterAll(() => gateway.backend.stop());

const connections = async (): Promise<number> =>
  seriesOf((await send(`${gateway.trailgate.adminUrl}/metrics`)).text).get('trailgate_connections') ?? NaN;

it.each<[string, () => string]>([
  ['with a key', () => `Authorization: ${gateway.authorization}\r\n`],
  ['without a key', () => ''],
])('uploads %s that are reset leave no connection, and backends see no empty address', async (_who, authorization) => {
  const head = `POST /api/v1/customers HTTP/1.1\r\nHost: a\r\n${authorization()}Content-Length: ${BODY.length}\r\n\r\n`;
  for (let time = 0; time < TIMES; time++) {
    const sockets = Array.from({ length: 4 }, () => connect(gateway.port, '127.0.0.1').on('error', () => {}));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const socket of sockets) socket.write(head + BODY);
    await sleep(time % 5);
    for (const socket of sockets) socket.resetAndDestroy();
  }
  await eventually('all are gone', async () => (await connections()) === 0);
  expect(gateway.backend.requests.filter(({ headers }) => headers['x-forwarded-for'] === '')).toEqual([]);
  expect((await gateway.send('/open')).status).toBe(200);
});

it('the program exits within five seconds after these resets', async () => {
  expect((await gateway.trailgate.stop(5_000)).code).toBe(0);
});
