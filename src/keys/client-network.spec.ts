/** Addresses of one subscriber map to one network, and no others do. */
import { describe, expect, it } from '@jest/globals';
import { clientNetwork, clientSite, isPrivateAddress } from './client-network.js';

describe('the network of a client', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:0:0:ffff:ffff:ffff:ffff', '2001:db8:0:0::/64'],
    ['2001:DB8:0000:0000:1::', '2001:db8:0:0::/64'],
    ['2001:db8::1:0:0:0:1', '2001:db8:0:1::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:3:4:192.0.2.1', '2001:db8:1:2::/64'],
    ['::', '0:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', ''],
    ['not an address', 'not an address'],
  ])('%s is in %s', (address, network) => {
    expect(clientNetwork(address)).toBe(network);
  });

  it.each([
    ['192.0.2.1', '192.0.2.2'],
    ['2001:db8:0:1::1', '2001:db8:0:2::1'],
  ])('differs for %s and %s', (one, other) => {
    expect(clientNetwork(one)).not.toBe(clientNetwork(other));
  });
});

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3::4', '2001:db8:1::/48'],
  ['2001:db8:1:ffff::', '2001:db8:1::/48'],
  ['2001:db8:2::', '2001:db8:2::/48'],
])('the site of a subscriber with %s is %s', (address, site) => {
  expect(clientSite(address)).toBe(site);
});

it.each([
  ['127.0.0.1', true],
  ['10.255.0.1', true],
  ['172.31.0.1', true],
  ['172.32.0.1', false],
  ['192.168.1.1', true],
  ['100.100.0.1', true],
  ['::ffff:10.0.0.1', true],
  ['::1', true],
  ['fd00::1', true],
  ['fe80::1', true],
  ['203.0.113.1', false],
  ['2001:db8::1', false],
  ['', false],
])('%s is private: %s', (address, expected) => {
  expect(isPrivateAddress(address)).toBe(expected);
});
