/** Behind trusted proxies, the client address is the last address in X-Forwarded-For that is not trusted. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startProxied, type Proxied } from '../support/proxied.js';

let gateway: Proxied;
beforeAll(async () => {
  gateway = await startProxied({
    config: { gateway: { trustedProxies: ['127.0.0.1', '10.0.0.0/8', '2001:db8::/32'] } },
  });
});
afterAll(() => gateway.stop());

it.each([
  ['203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:51234', '203.0.113.7'],
  ['203.0.113.7:51234, 10.0.0.2:443', '203.0.113.7'],
  ['[2001:4860::7]:51234, [2001:db8::1]:443, 10.0.0.2', '2001:4860::7'],
  ['2001:4860::7, 10.0.0.2', '2001:4860::7'],
  ['[2001:4860::7]', '2001:4860::7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['198.51.100.9, 203.0.113.7:80', '203.0.113.7'],
  ['10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ['unknown', '127.0.0.1'],
  ['203.0.113.7:port', '127.0.0.1'],
  ['', '127.0.0.1'],
])('with X-Forwarded-For %p the client address is %s', async (forwardedFor, client) => {
  expect((await gateway.send('/open', { headers: ['X-Forwarded-For', forwardedFor] })).status).toBe(200);
  expect(gateway.backend.requests.at(-1)?.headers['x-forwarded-for']).toBe(client);
});
