/** What a request costs that the gateway could not, or would not, have served. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Readable } from 'node:stream';
import { startProxied, type Proxied } from '../support/proxied.js';

let gateway: Proxied;
beforeAll(async () => {
  gateway = await startProxied({
    config: { services: { backend: { maxBodyBytes: 1_024 } }, plans: { unlimited: { account: { month: 1_000 } } } },
  });
});
afterAll(() => gateway.stop());

async function used(): Promise<number> {
  const { windows } = (await gateway.send('/usage')).json<{ windows: { used: number }[] }>();
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
