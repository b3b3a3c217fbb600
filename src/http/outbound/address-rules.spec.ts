/** Addresses as a resolver returns them: only the public internet is allowed, in every notation. */
import { describe, expect, it } from '@jest/globals';
import { BlockList } from 'node:net';
import { SeededRandom } from '../../../test/support/seeded-random.js';
import { namedNetworks, refusedAddress } from './address-rules.js';

const judge = (address: string, ...allowed: string[]) => refusedAddress(address, namedNetworks(allowed)) ?? 'ok';

/** IANA's registry, without our additions. */
const SPECIAL = (
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 ' +
  '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4'
).split(' ');

describe('an address', () => {
  it.each([
    ['', 'not_an_address'],
    ['example.com', 'not_an_address'],
    ['127.1', 'not_an_address'],
    ['0177.0.0.1', 'not_an_address'],
    ['2130706433', 'not_an_address'],
    ['[::1]', 'not_an_address'],
    ['fe80::1%eth0', 'not_an_address'],
    ['2606:4700:4700::1111%eth0', 'not_an_address'],
    ['8.8.8.8\0', 'not_an_address'],
    ['8.8.8.8', 'ok'],
    ['2606:4700:4700::1111', 'ok'],
  ])('%j is %s', (address, expected) => {
    expect(judge(address)).toBe(expected);
  });

  it('of IPv4 is public exactly if it is in none of the special networks', () => {
    const special = new BlockList();
    for (const block of SPECIAL) special.addSubnet(block.split('/')[0] ?? '', Number(block.split('/')[1]));
    special.addAddress('168.63.129.16');
    const edges = SPECIAL.flatMap((block) => {
      const [address = '', prefix] = block.split('/');
      const first = address.split('.').reduce((value, part) => value * 256 + Number(part), 0);
      const size = 2 ** (32 - Number(prefix));
      return [first - 1, first, first + 1, first + size - 1, first + size].filter((at) => at >= 0 && at < 2 ** 32);
    });
    const random = new SeededRandom(15);
    const some = Array.from({ length: 2_000 }, () => random.below(2 ** 32));
    for (const number of [...edges, ...some]) {
      const address = [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
      expect([address, judge(address) !== 'ok']).toEqual([address, special.check(address)]);
    }
  });

  it('of IPv6 that contains an IPv4 address is refused in every notation', () => {
    const random = new SeededRandom(16);
    for (let round = 0; round < 200; round++) {
      const [a, b, c, d] = Array.from({ length: 4 }, () => random.below(256)) as [number, number, number, number];
      const dotted = `${a}.${b}.${c}.${d}`;
      const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
      const mapped = [`::ffff:${dotted}`, `::ffff:${hex}`, `0:0:0:0:0:FFFF:${dotted}`, `::ffff:0:${hex}`, `::${hex}`];
      const tunnels = [`64:ff9b::${dotted}`, `64:ff9b::${hex}`, `64:ff9b:1::${hex}`, `2002:${hex}::1`];
      for (const address of [...mapped, ...tunnels]) expect([address, judge(address)]).not.toEqual([address, 'ok']);
    }
  });
});

describe('a private network that the operator allows', () => {
  it.each([
    ['10.1.2.3', '10.1.0.0/16', 'ok'],
    ['10.2.2.3', '10.1.0.0/16', 'private'],
    ['127.0.0.1', '127.0.0.0/8', 'ok'],
    ['127.0.0.1', '127.0.0.1', 'ok'],
    ['::1', '::1/128', 'ok'],
    ['::1', '127.0.0.0/8', 'loopback'],
    ['fd00::7', 'fd00::/8', 'ok'],
    ['100.64.0.1', '100.64.0.0/10', 'ok'],
    ['192.0.2.1', '192.0.2.0/24', 'ok'],
  ])('%s in %s is %s', (address, block, expected) => {
    expect(judge(address, block)).toBe(expected);
  });

  it.each([
    ['169.254.169.254', 'link_local'],
    ['169.254.1.1', 'link_local'],
    ['168.63.129.16', 'cloud_metadata'],
    ['100.100.100.200', 'cloud_metadata'],
    ['0.0.0.0', 'unspecified'],
    ['224.0.0.1', 'multicast'],
    ['::', 'unspecified'],
    ['::ffff:10.0.0.1', 'embedded_ipv4'],
    ['::ffff:169.254.169.254', 'embedded_ipv4'],
    ['fd00:ec2::254', 'cloud_metadata'],
    ['fe80::1', 'link_local'],
    ['ff02::1', 'multicast'],
  ])('never opens %s, which stays %s', (address, reason) => {
    expect(judge(address, '0.0.0.0/0', '::/0')).toBe(reason);
  });

  it('is refused if it is also denied, as are denied public networks, even behind NAT64', () => {
    const denied = namedNetworks(['10.1.2.0/24', '8.8.8.0/24', '2001:4860::/32']);
    const judgeAll = (...addresses: string[]) =>
      addresses.map((address) => refusedAddress(address, namedNetworks(['10.1.0.0/16', '64:ff9b::/96']), denied));
    expect(judgeAll('10.1.2.3', '8.8.8.8', '2001:4860:4860::8888', '64:ff9b::8.8.8.8')).toEqual(
      Array.from({ length: 4 }, () => 'denied'),
    );
    expect(judgeAll('10.1.3.3', '8.8.4.4', '2606:4700:4700::1111', '64:ff9b::8.8.4.4')).toEqual(
      Array.from({ length: 4 }, () => undefined),
    );
    // Addresses that are always refused keep their reason.
    expect(judgeAll('10.2.0.1', '::ffff:8.8.8.8')).toEqual(['private', 'embedded_ipv4']);
  });

  it('allows NAT64 to addresses that are allowed as IPv4', () => {
    expect(judge('64:ff9b::8.8.8.8', '64:ff9b::/96')).toBe('ok');
    expect(judge('64:ff9b::808:808')).toBe('transition');
    expect(judge('64:ff9b::10.0.0.1', '64:ff9b::/96')).toBe('private');
    expect(judge('64:ff9b::a9fe:a9fe', '64:ff9b::/96', '0.0.0.0/0')).toBe('link_local');
    expect(judge('64:ff9b::10.0.0.1', '64:ff9b::/96', '10.0.0.0/8')).toBe('ok');
  });
});
