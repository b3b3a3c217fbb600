/** Client addresses behind proxies. */
import { expect, it } from '@jest/globals';
import { clientAddress, trustsOf } from './client-address.js';

const trusts = trustsOf(['10.0.0.0/8', '2001:db8::/32']);

it.each([
  ['203.0.113.9', '198.51.100.1', '203.0.113.9', 'a stranger is not believed'],
  ['10.0.0.1', '198.51.100.1', '198.51.100.1', 'a proxy of ours is'],
  ['::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1', 'also over a socket of both families'],
  ['10.0.0.1', '192.0.2.66, 198.51.100.1', '198.51.100.1', 'what the client claims itself is passed over'],
  ['10.0.0.1', '198.51.100.1, 10.0.0.2', '198.51.100.1', 'two of our proxies in a row'],
  ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3', 'a request of a proxy itself'],
  ['10.0.0.1', '198.51.100.1:4711', '198.51.100.1', 'a port is taken off'],
  ['10.0.0.1', '[2001:db9::1]:4711', '2001:db9::1', 'of IPv6, too'],
  ['10.0.0.1', 'unknown', '10.0.0.1', 'what is no address is none'],
  ['10.0.0.1', '', '10.0.0.1', 'nor is nothing'],
  [undefined, '198.51.100.1', '', 'a connection that has gone has none'],
])('%s with X-Forwarded-For %s is %s: %s', (remote, forwarded, expected, _why) => {
  expect(clientAddress(remote, forwarded, trusts)).toBe(expected);
});

it('ignores the header without trusted proxies', () => {
  expect(clientAddress('10.0.0.1', '198.51.100.1', trustsOf([]))).toBe('10.0.0.1');
});
