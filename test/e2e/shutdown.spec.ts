/** A process that is told to stop finishes the running requests, and waits for nothing else. */
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

const KEEP_ALIVE = new Agent({ keepAlive: true });

let gateway: OwnProxied;
afterEach(async () => {
  KEEP_ALIVE.destroy();
  await gateway.stop();
});

it('shutdown answers a running request, refuses new ones, is not ready, and ends with the last response', async () => {
  gateway = await startProxied({ own: true });
  let finish = () => {};
  const called = new Promise<void>((resolve) => {
    gateway.answerWith((_request, response) => {
      finish = () => void response.end('done');
      resolve();
    });
  });
  const underWay = gateway.send('/customers', { agent: KEEP_ALIVE });
  await called;

  const exit = gateway.trailgate.stop();
  await sleep(200);
  const ready = await send(`${gateway.trailgate.adminUrl}/readyz`);
  expect([ready.status, ready.json()['status']]).toEqual([503, 'not_ready']);
  await expect(gateway.send('/customers')).rejects.toMatchObject({ code: 'ECONNREFUSED' });

  const finishedMs = performance.now();
  finish();
  const { status, text } = await underWay;
  expect([status, text]).toEqual([200, 'done']);
  await expect(exit).resolves.toMatchObject({ code: 0 });
  // The client keeps its connection open, but the shutdown does not wait for idle connections.
  expect(quietMsSince(finishedMs)).toBeLessThan(3_000);
});

it('shutdown does not wait for connections without a request, whether they have had one or not', async () => {
  gateway = await startProxied({ own: true });
  await gateway.send('/open', { agent: KEEP_ALIVE });
  const silent = connect(gateway.port, '127.0.0.1').on('error', () => undefined);
  await new Promise((resolve) => silent.once('connect', resolve));
  await sleep(100);
  const startedMs = performance.now();
  await expect(gateway.trailgate.stop()).resolves.toMatchObject({ code: 0 });
  expect(quietMsSince(startedMs)).toBeLessThan(3_000);
  silent.destroy();
});
