/** Tests the rate limits of one network, of its known clients, and of networks shared by many people. */
import { beforeEach, expect, it } from '@jest/globals';
import { TestClock } from '../../test/support/stores.js';
import { trustsOf } from '../keys/clients/client-address.js';
import { ProcessThrottleWindows } from '../quota/throttle-windows.js';
import { NetworkThrottle } from './network-throttle.js';

let throttle: NetworkThrottle;
beforeEach(() => {
  throttle = new NetworkThrottle(new ProcessThrottleWindows(new TestClock()), trustsOf(['192.0.2.0/24']));
});

type Asked = Parameters<NetworkThrottle['admits']>;

/** Returns the number of admitted requests, of 1,001. */
async function admitted(...asked: Asked): Promise<number> {
  let count = 0;
  while (count <= 1_000 && (await throttle.admits(...asked))) count += 1;
  return count;
}

it.each<[Asked[0], number]>([
  ['request', 60],
  ['token', 600],
  ['registration', 20],
  ['document', 10],
])('%s: of 1,001 requests, admits %i per network and 100 times as many per trusted network', async (kind, most) => {
  expect(await admitted(kind, '203.0.113.9')).toBe(most);
  expect(await throttle.admits(kind, '203.0.113.10')).toBe(true);
  expect(await admitted(kind, '2001:db8::1')).toBe(most);
  expect(await throttle.admits(kind, '2001:db8::2')).toBe(false);
  expect(await admitted(kind, '192.0.2.7')).toBe(Math.min(1_001, 100 * most));
});

it('each client has its own limit in each network', async () => {
  expect(await admitted('request', '203.0.113.9', 'https://a.example.com/')).toBe(60);
  expect(await admitted('request', '203.0.113.9', 'https://b.example.com/')).toBe(60);
  expect(await admitted('request', '203.0.113.9')).toBe(60);
  expect(await throttle.admits('request', '203.0.113.10', 'https://a.example.com/')).toBe(true);
});

it('refuses every request if the counters are unavailable', async () => {
  const away = new NetworkThrottle({ increment: () => Promise.reject(new Error('away')) }, undefined);
  expect(await away.admits('request', '203.0.113.9')).toBe(false);
});
