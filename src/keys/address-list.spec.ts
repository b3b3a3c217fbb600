import { describe, expect, it } from '@jest/globals';
import { addressList, holdsAddress, plainAddress } from './address-list.js';

function allows(entries: readonly string[], address: string): boolean {
  const list = addressList(entries);
  if (list === undefined) throw new Error('no list');
  return holdsAddress(list, address);
}

describe('an allow-list of addresses', () => {
  it('is none when it is empty: any address is allowed', () => {
    expect(addressList([])).toBeUndefined();
  });

  it.each([
    [['192.0.2.1'], '192.0.2.1', true],
    [['192.0.2.1'], '192.0.2.2', false],
    [['192.0.2.0/24'], '192.0.2.255', true],
    [['192.0.2.0/24'], '192.0.3.0', false],
    [['192.0.2.77/24'], '192.0.2.1', true],
    [['10.0.0.0/8', '192.0.2.1'], '10.255.0.1', true],
    [['192.0.2.1/32'], '192.0.2.1', true],
    [['0.0.0.0/0'], '203.0.113.9', true],
    [['0.0.0.0/0'], '2001:db8::1', false],
    [['2001:db8::1'], '2001:db8::1', true],
    [['2001:db8::1'], '2001:0DB8:0:0:0:0:0:1', true],
    [['2001:db8::/32'], '2001:db8:ffff::1', true],
    [['2001:db8::/32'], '2001:db9::1', false],
    [['::/0'], '2001:db8::1', true],
    [['::1'], '::1', true],
    [['::1'], '127.0.0.1', false],
  ])('%j asked for %s: %s', (entries, address, expected) => {
    expect(allows(entries, address)).toBe(expected);
  });

  it('takes an IPv4 address for the same whether or not the socket speaks IPv6', () => {
    expect(allows(['192.0.2.0/24'], '::ffff:192.0.2.7')).toBe(true);
    expect(allows(['192.0.2.0/24'], '::ffff:192.0.3.7')).toBe(false);
    expect(allows(['::ffff:192.0.2.7'], '192.0.2.7')).toBe(true);
    expect(allows(['::ffff:192.0.2.0/120'], '192.0.2.7')).toBe(true);
    expect(allows(['::ffff:192.0.2.0/120'], '192.0.3.7')).toBe(false);
  });

  it.each(['', 'localhost', '192.0.2', '192.0.2.1, 10.0.0.1', '192.0.2.1:443', 'unknown'])(
    'lets nobody in from %j, which is no address',
    (address) => {
      expect(allows(['0.0.0.0/0', '::/0'], address)).toBe(false);
    },
  );
});

describe('an address as people write it', () => {
  it.each([
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['::1', '::1'],
  ])('%s is %s', (socket, plain) => {
    expect(plainAddress(socket)).toBe(plain);
  });
});
