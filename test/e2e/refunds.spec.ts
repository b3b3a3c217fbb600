/** Charged and free requests: bodies that are too large, backend failures, and clients that disconnect. */
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

it('a body declared as too large is refused before the backend is called, and costs nothing', async () => {
  const before = await used();
  const answer = await gateway.send('/customers', { method: 'POST', body: Buffer.alloc(1_025) });
  expect([answer.status, answer.json()['code']]).toEqual([413, 'content_too_large']);
  expect(gateway.backend.requests).toHaveLength(0);
  expect(await used()).toBe(before);
});

it.each([502, 503, 504, 501])('a backend response of %i is refunded', async (status) => {
  gateway.answerWith((_request, response) => void response.writeHead(status).end());
  const before = await used();
  await gateway.send('/customers');
  expect(await used()).toBe(before);
});

it.each([200, 404, 422, 429, 500])('a backend response of %i is charged', async (status) => {
  gateway.answerWith((_request, response) => void response.writeHead(status).end());
  const before = await used();
  await gateway.send('/customers');
  expect(await used()).toBe(before + 1);
});

it('a streamed body that turns out to be too large gets 413 and is charged', async () => {
  gateway.answerWith(() => {});
  const before = await used();
  const body = Readable.from([Buffer.alloc(700), Buffer.alloc(700)]);
  const answer = await gateway.send('/customers', { method: 'POST', body });
  expect(answer.status).toBe(413);
  expect(await used()).toBe(before + 1);
});

it('a client that disconnects while the backend connection is being opened is not charged', async () => {
  // The backend never responds, so no TLS handshake completes.
  const backend = await startRawBackend(() => undefined);
  const silent = await startProxied({
    targets: backend.url.replace('http:', 'https:'),
    config: { plans: { unlimited: { account: { month: 1_000 } } } },
  });
  try {
    const request = silent.open('/customers').on('error', () => {});
    request.end();
    await eventually('the gateway opens a backend connection', () => backend.connections === 1);
    expect(await used(silent)).toBe(1);
    request.destroy();
    await eventually('the cost is refunded', async () => (await used(silent)) === 0);
  } finally {
    await silent.stop();
    await backend.stop();
  }
});

it('a client that disconnects after its request reached the backend is charged', async () => {
  gateway.answerWith(() => {});
  const before = await used();
  const request = gateway.open('/customers').on('error', () => {});
  request.end();
  await eventually('the backend gets the request', () => gateway.backend.requests.length === 1);
  request.destroy();
  await eventually('the backend request is aborted', () => gateway.backend.requests[0]?.aborted === true);
  expect(await used()).toBe(before + 1);
});
