/** A client that disconnects aborts its backend call, whenever it disconnects. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { eventually } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

let gateway: Proxied;

beforeAll(async () => {
  gateway = await startProxied({
    backendOptions: { atOnce: true },
    config: { services: { backend: { connections: 2, accountShare: 1 } } },
  });
});
afterAll(() => gateway.stop());

const backendCallIsAborted = () =>
  eventually('the backend request is aborted', () => gateway.backend.requests.at(-1)?.aborted === true);

const requestLines = () => gateway.trailgate.logs().filter(({ event }) => event === 'request');

it('a client that disconnects before the response aborts the backend call', async () => {
  gateway.answerWith(() => {});
  const request = gateway.open('/open').on('error', () => {});
  request.end();
  await eventually('the backend gets the request', () => gateway.backend.requests.length === 1);
  request.destroy();
  await backendCallIsAborted();
});

it('a client that disconnects while the response streams aborts the backend call', async () => {
  gateway.answerWith((_request, response) => {
    response.write('first');
  });
  const { request, response } = await gateway.exchange('/open');
  await once(response, 'data');
  request.destroy();
  await backendCallIsAborted();
});

it('a client that disconnects while it reads slowly aborts the backend call', async () => {
  gateway.answerWith((_request, response) => {
    const more = (): void => {
      while (response.write(Buffer.alloc(256 * 1024)));
      response.once('drain', more);
    };
    more();
  });
  const { request, response } = await gateway.exchange('/files/endless');
  response.pause();
  await new Promise((done) => setTimeout(done, 300));
  request.destroy();
  await backendCallIsAborted();
});

it('a client that disconnects during an upload aborts the backend call without ending the body', async () => {
  gateway.answerWith((request) => void request.resume());
  for (const framing of [
    ['Transfer-Encoding', 'chunked'],
    ['Content-Length', '1000'],
  ]) {
    gateway.backend.requests.length = 0;
    const request = gateway.open('/files/a', { method: 'PUT', headers: framing }).on('error', () => {});
    request.write('half');
    await eventually('the backend has half of the body', () => gateway.backend.requests[0]?.bodyBytes === 4);
    request.destroy();
    await backendCallIsAborted();
    expect(gateway.backend.requests[0]).toMatchObject({ bodyBytes: 4 });
    expect(gateway.backend.requests[0]?.bodySha256).toBeUndefined();
  }
});

it('a client that disconnects while it waits for a free connection never reaches the backend', async () => {
  gateway.answerWith(() => {});
  const holders = [1, 2].map(() => gateway.open('/open').on('error', () => {}));
  for (const holder of holders) holder.end();
  await eventually('both backend connections are in use', () => gateway.backend.requests.length === 2);
  const waiting = gateway.open('/open?waiting', { headers: ['X-Request-Id', 'waiting-client'] }).on('error', () => {});
  waiting.end();
  await new Promise((done) => setTimeout(done, 100));
  waiting.destroy();
  await eventually('the waiting request is logged', () =>
    requestLines().some((line) => line['request_id'] === 'waiting-client'),
  );
  for (const holder of holders) holder.destroy();
  await eventually('the other requests are aborted', () => gateway.backend.requests.every(({ aborted }) => aborted));
  gateway.answerWith((_request, response) => response.end('ok'));
  expect((await gateway.send('/open')).text).toBe('ok');
  expect(gateway.backend.requests.map(({ url }) => url)).toEqual(['/open']);
});

it('a client that disconnects is logged once, as 499', async () => {
  gateway.answerWith(() => {});
  const request = gateway.open('/open', { headers: ['X-Request-Id', 'gone-client'] }).on('error', () => {});
  request.end();
  await eventually('the backend gets the request', () => gateway.backend.requests.length === 1);
  request.destroy();
  const lines = () => requestLines().filter((line) => line['request_id'] === 'gone-client');
  await eventually('the request is logged', () => lines().length > 0);
  expect(lines()).toEqual([expect.objectContaining({ status: 499 })]);
});

it('a hundred clients that disconnect leave both backend connections usable', async () => {
  gateway.answerWith(() => {});
  for (let index = 0; index < 100; index++) {
    const request = gateway.open('/open').on('error', () => {});
    request.end();
    await eventually('the backend gets the request', () => gateway.backend.requests.length === index + 1);
    request.destroy();
  }
  gateway.answerWith((_request, response) => response.end('ok'));
  for (let index = 0; index < 10; index++) expect((await gateway.send('/open')).text).toBe('ok');
});
