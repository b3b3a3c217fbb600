/** Cost of requests that the gateway could not, or would not, have served. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Readable } from 'node:stream';
import { startRawBackend } from '../support/backend.js';
import { eventually } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

let gateway: Proxied;
beforeAll(async () => {
  gateway = await startProxied({
    config: { services: { backend: { maxBodyBytes: 1_024 } }, plans: { unlimited: { account: { month: 1_000 } } } },
  });
});
afterAll(() => gateway.stop());

async function used(of = gateway): Promise<number> {
  const { windows } = (await of.send('/usage')).json<{ windows: { used: number }[] }>();
  return windows[0]?.used ?? NaN;
}

it('a body that is announced as too large is refused before the backend is asked, and costs nothing', async () => {
  const before = await used();
  const answer = await gateway.send('/customers', { method: 'POST', body: Buffer.alloc(1_025) });
  expect([answer.status, answer.json()['code']]).toEqual([413, 'content_too_large']);
  expect(gateway.backend.requests).toHaveLength(0);
  expect(await used()).toBe(before);
});

it.each([502, 503, 504, 501])('an answer of %i by the backend is given back', async (status) => {
  gateway.answerWith((_request, response) => void response.writeHead(status).end());
  const before = await used();
  await gateway.send('/customers');
  expect(await used()).toBe(before);
});

it.each([200, 404, 422, 429, 500])('an answer of %i by the backend costs what it costs', async (status) => {
  gateway.answerWith((_request, response) => void response.writeHead(status).end());
  const before = await used();
  await gateway.send('/customers');
  expect(await used()).toBe(before + 1);
});

it('a body that turns out too large on its way has cost the backend its work, and counts', async () => {
  gateway.answerWith(() => {});
  const before = await used();
  const body = Readable.from([Buffer.alloc(700), Buffer.alloc(700)]);
  const answer = await gateway.send('/customers', { method: 'POST', body });
  expect(answer.status).toBe(413);
  expect(await used()).toBe(before + 1);
});

it('a client that leaves while the connection to the backend is being opened has asked nobody, and pays nothing', async () => {
  // Says nothing: no handshake of TLS comes to its end.
  const backend = await startRawBackend(() => undefined);
  const silent = await startProxied({
    targets: backend.url.replace('http:', 'https:'),
    config: { plans: { unlimited: { account: { month: 1_000 } } } },
  });
  try {
    const request = silent.open('/customers').on('error', () => {});
    request.end();
    await eventually('a connection is begun', () => backend.connections === 1);
    expect(await used(silent)).toBe(1);
    request.destroy();
    await eventually('its cost is given back', async () => (await used(silent)) === 0);
  } finally {
    await silent.stop();
    await backend.stop();
  }
});

it('one that leaves when the backend has been asked pays: leaving early would be free', async () => {
  gateway.answerWith(() => {});
  const before = await used();
  const request = gateway.open('/customers').on('error', () => {});
  request.end();
  await eventually('the backend has it', () => gateway.backend.requests.length === 1);
  request.destroy();
  await eventually('the backend is told', () => gateway.backend.requests[0]?.aborted === true);
  expect(await used()).toBe(before + 1);
});
