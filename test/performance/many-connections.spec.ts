/** Attack by a thousand idle connections that leave no capacity for others. */
import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { startProxied } from '../support/proxied.js';

const CONNECTIONS = 1_000;

it('a thousand idle connections stay open, and other requests get a response within a second', async () => {
  const gateway = await startProxied({ own: true, config: { gateway: { limits: { connectionsPerAddress: 0 } } } });
  const idle = Array.from({ length: CONNECTIONS }, () => connect(gateway.port, '127.0.0.1').on('error', () => {}));
  await Promise.all(idle.map((socket) => once(socket, 'connect')));
  for (const socket of idle)
    socket.write(`GET /api/v1/open HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\n\r\n`);
  await Promise.all(idle.map((socket) => once(socket, 'data')));
  const series = seriesOf((await send(`${gateway.trailgate.adminUrl}/metrics`)).text);
  expect(series.get('trailgate_connections')).toBe(CONNECTIONS);
  for (let time = 0; time < 50; time++) {
    expect((await gateway.send('/open', { timeoutMs: 1_000 })).status).toBe(200);
  }
  expect(idle.filter(({ closed }) => closed)).toEqual([]);
  for (const socket of idle) socket.destroy();
  await gateway.stop();
});
