/** Attack: connections by the thousand, or requests without end on one, to leave no room for anybody else. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually } from '../support/processes.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

let gateway: OwnProxied;
let sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await gateway.stop();
});

const startWith = async (limits: object, more: object = {}): Promise<void> => {
  gateway = await startProxied({ own: true, config: { gateway: { limits, ...more } } });
};

async function openConnections(count: number): Promise<Socket[]> {
  const opened = Array.from({ length: count }, () => connect(gateway.port, '127.0.0.1').on('error', () => {}));
  sockets.push(...opened);
  await Promise.all(opened.map((socket) => once(socket, 'connect')));
  return opened;
}

const metric = async (name: string): Promise<number> =>
  seriesOf((await send(`${gateway.trailgate.adminUrl}/metrics`)).text).get(name) ?? 0;
const closed = (): number => sockets.filter((socket) => socket.closed).length;
/** Reads, so that the end of the connection is seen. */
const resume = (): void => sockets.forEach((socket) => void socket.resume());

it('a thousand that are idle disturb nobody: every request of others is answered within a second', async () => {
  await startWith({ connectionsPerAddress: 0 });
  const idle = await openConnections(1_000);
  for (const socket of idle)
    socket.write(`GET /api/v1/open HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\n\r\n`);
  await Promise.all(idle.map((socket) => once(socket, 'data')));
  expect(await metric('trailgate_connections')).toBe(1_000);
  for (let time = 0; time < 50; time++) {
    expect((await gateway.send('/open', { timeoutMs: 1_000 })).status).toBe(200);
  }
  expect(closed()).toBe(0);
});

describe('more than the limit', () => {
  it('are closed at once and counted; there is room again when one goes', async () => {
    await startWith({ connections: 20 });
    await openConnections(30);
    resume();
    await eventually('ten are closed', () => closed() === 10);
    expect(await metric('trailgate_connections_cut_total{reason="limit"}')).toBe(10);
    await expect(gateway.send('/open')).rejects.toThrow(/ECONNRESET|socket hang up/);
    sockets.find((socket) => !socket.closed)?.destroy();
    await eventually('there is room', async () => (await gateway.send('/open').catch(() => null))?.status === 200);
  });

  it('from one address are closed, where that is limited', async () => {
    await startWith({ connectionsPerAddress: 5 });
    await openConnections(8);
    resume();
    await eventually('three are closed', () => closed() === 3);
    expect(await metric('trailgate_connections_cut_total{reason="address_limit"}')).toBe(3);
    sockets.find((socket) => !socket.closed)?.destroy();
    await eventually('there is room', async () => (await gateway.send('/open').catch(() => null))?.status === 200);
  });

  it('from the address of a trusted proxy are served', async () => {
    await startWith({ connectionsPerAddress: 5 }, { trustedProxies: ['127.0.0.0/8'] });
    await openConnections(8);
    expect((await gateway.send('/open')).status).toBe(200);
    expect(await metric('trailgate_connections_cut_total{reason="address_limit"}')).toBe(0);
  });
});

it('a connection ends with the last answer it may have, and what is behind that is not served', async () => {
  await startWith({ requestsPerConnection: 3 });
  const request = `GET /api/v1/open HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\n\r\n`;
  const text = await gateway.raw(request.repeat(5), 2_000);
  const answers = text.split('HTTP/1.1 ').slice(1);
  expect(answers.map((answer) => answer.slice(0, 3))).toEqual(['200', '200', '200']);
  expect(answers.map((answer) => /Connection: close/i.test(answer))).toEqual([false, false, true]);
  expect(gateway.backend.requests).toHaveLength(3);
});
