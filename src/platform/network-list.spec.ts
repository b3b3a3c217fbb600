/** Lists of networks: matching, rejected entries, and stored entries from older versions. */
import { describe, expect, it } from '@jest/globals';
import { SeededRandom } from '../../test/support/seeded-random.js';
import { containsNetwork, networkFault, NetworkList, plainAddress, plainNetwork } from './network-list.js';

const PAIRS = 5_000;

describe('a list of networks', () => {
  it.each([
    [['192.0.2.1'], '192.0.2.1', true],
    [['192.0.2.1'], '192.0.2.2', false],
    [['192.0.2.0/24'], '192.0.2.255', true],
    [['192.0.2.0/24'], '192.0.3.0', false],
    [['10.0.0.0/8', '192.0.2.1'], '10.255.0.1', true],
    [['192.0.2.1/32'], '192.0.2.1', true],
    [['0.0.0.0/0'], '203.0.113.9', true],
    [['0.0.0.0/0'], '2001:db8::1', false],
    [['2001:db8::1'], '2001:0DB8:0:0:0:0:0:1', true],
    [['2001:db8::/32'], '2001:db8:ffff::1', true],
    [['2001:db8::/32'], '2001:db9::1', false],
    [['::/0'], '2001:db8::1', true],
    [['::/0'], '192.0.2.1', false],
    [['::/0'], '::ffff:192.0.2.1', false],
    [['::/80'], '192.0.2.1', false],
    [['::1'], '::1', true],
    [['::1'], '127.0.0.1', false],
    [['fe80::/10'], 'fe80::1%eth0.5', true],
    [['192.0.2.0/24'], '::ffff:192.0.2.7', true],
    [['192.0.2.0/24'], '::FFFF:c000:207', true],
    [['192.0.2.0/24'], '0:0:0:0:0:ffff:192.0.2.7', true],
    [['192.0.2.0/24'], '::ffff:192.0.3.7', false],
    [['192.0.2.0/24'], '::192.0.2.7', false],
    [['::192.0.2.7'], '192.0.2.7', false],
    [['::ffff:192.0.2.7'], '192.0.2.7', true],
    [['::ffff:192.0.2.0/120'], '192.0.2.7', true],
    [['::ffff:192.0.2.0/120'], '192.0.3.7', false],
    [['::ffff:0:0/96'], '2001:db8::1', false],
    [[], '192.0.2.1', false],
  ])('%j contains %s: %s', (entries, address, expected) => {
    expect(NetworkList.of(entries).holds(address)).toBe(expected);
  });

  it.each([
    '',
    'localhost',
    '192.0.2',
    '192.0.2.1, 10.0.0.1',
    '192.0.2.1:443',
    'unknown',
    '010.0.0.1',
    '0x7f.0.0.1',
    '2130706433',
    '1.2.3.4.',
    '.1.2.3.4',
    '1..2.3',
    '1.2.3.4.5',
    '256.0.0.1',
    '::ffff:1.2.3',
    '::ffff:1.2.3.256',
    '1.2.3.4\0',
    ' 1.2.3.4',
    ':::',
    '1::2::3',
    '[::1]',
    '::1/128',
  ])('does not contain %j, which is not an address', (address) => {
    expect(NetworkList.of(['0.0.0.0/0', '::/0']).holds(address)).toBe(false);
  });

  it(`agrees with a BigInt model for ${PAIRS} random pairs of a list and an address`, () => {
    const random = new SeededRandom(2026);
    let matched = 0;
    for (let pair = 0; pair < PAIRS; pair++) {
      const blocks = Array.from({ length: 1 + random.below(3) }, () => randomBlock(random));
      const address = randomAddress(random, blocks);
      const list = NetworkList.of(blocks.map((block) => spelledBlock(random, block)));
      const spelled = spelledAddress(random, address);
      const expected = blocks.some((block) => contains(block, address));
      if (expected) matched++;
      if (list.holds(spelled) !== expected) {
        throw new Error(`${JSON.stringify(blocks.map(String))} and ${spelled}: ${!expected}, not ${expected}`);
      }
    }
    // Both outcomes must be common, or the comparison proves little.
    expect(matched).toBeGreaterThan(PAIRS / 5);
    expect(matched).toBeLessThan(PAIRS - PAIRS / 5);
  });
});

describe('an invalid entry', () => {
  it.each([
    ['10.0.0.1/8', 'host_bits', '10.0.0.0/8'],
    ['192.0.2.77/24', 'host_bits', '192.0.2.0/24'],
    ['192.0.2.1/0', 'host_bits', '0.0.0.0/0'],
    ['192.0.2.3/31', 'host_bits', '192.0.2.2/31'],
    ['2001:db8::1/32', 'host_bits', '2001:db8::/32'],
    ['::1/0', 'host_bits', '::/0'],
    ['::ffff:192.0.2.1/120', 'host_bits', '192.0.2.0/24'],
    ['::ffff:203.0.113.0/24', 'mapped_prefix', '203.0.113.0/24'],
    ['::ffff:10.0.0.0/8', 'mapped_prefix', '10.0.0.0/8'],
    ['::ffff:10.1.0.0/8', 'mapped_prefix', '10.0.0.0/8'],
    ['::ffff:cb00:7100/24', 'mapped_prefix', '203.0.113.0/24'],
    ['::ffff:0.0.0.0/0', 'mapped_prefix', '0.0.0.0/0'],
    ['::ffff:0:0/80', 'mapped_prefix', undefined],
    ['::ffff:203.0.113.0/95', 'mapped_prefix', undefined],
    ['10.0.0.0/33', 'syntax', undefined],
    ['::/129', 'syntax', undefined],
    ['10.0.0.0/08', 'syntax', undefined],
    ['10.0.0.0/-1', 'syntax', undefined],
    ['10.0.0.0/', 'syntax', undefined],
    ['10.0.0.0/8/8', 'syntax', undefined],
    ['10.0.0.0/255.0.0.0', 'syntax', undefined],
    ['10.0/8', 'syntax', undefined],
    ['010.0.0.0/8', 'syntax', undefined],
    ['0x0a000000/8', 'syntax', undefined],
    ['fe80::%eth0/10', 'syntax', undefined],
    ['loopback', 'syntax', undefined],
    ['', 'syntax', undefined],
  ])('%s is rejected (%s), with the suggestion %s', (entry, reason, instead) => {
    expect(networkFault(entry)).toEqual({ reason, instead });
    expect(networkFault(instead ?? '10.0.0.0/8')).toBeUndefined();
  });

  it('throws if it was not checked before', () => {
    expect(() => NetworkList.of(['10.0.0.0/8', 'loopback'])).toThrow('"loopback" is not a network');
  });

  it('is stored as IPv4 if it is an IPv4-mapped block, and unchanged otherwise', () => {
    expect(plainNetwork('::ffff:192.0.2.0/120')).toBe('192.0.2.0/24');
    expect(plainNetwork('::FFFF:c000:207')).toBe('192.0.2.7');
    expect(plainNetwork('::ffff:0:0/96')).toBe('0.0.0.0/0');
    for (const entry of ['192.0.2.0/24', '192.0.2.1/32', '2001:DB8::/32', '::192.0.2.7', 'no network']) {
      expect(plainNetwork(entry)).toBe(entry);
    }
  });
});

it('a stored list ignores host bits, and its unreadable entries match nothing', () => {
  const unreadable: string[] = [];
  const stored = ['10.0.0.1/8', '::ffff:203.0.113.0/24', '::ffff:192.0.2.0/120', 'x', '2001:db8::7/32'];
  const list = NetworkList.reading(stored, (entry) => unreadable.push(entry));
  expect(unreadable).toEqual(['::ffff:203.0.113.0/24', 'x']);
  const held = ['10.9.9.9', '192.0.2.9', '2001:db8::1', '127.0.0.1', '203.0.113.7', '::1', '8.8.8.8'];
  expect(held.filter((address) => list.holds(address))).toEqual(['10.9.9.9', '192.0.2.9', '2001:db8::1']);
});

it.each([
  ['10.0.0.0/8', '10.1.0.0/16', true],
  ['10.1.0.0/16', '10.0.0.0/8', false],
  ['10.0.0.1/8', '10.9.9.9', true],
  ['10.0.0.0/8', '::ffff:10.0.0.0/104', true],
  ['0.0.0.0/0', '::1', false],
  ['::/0', '10.0.0.1', false],
  ['::/0', '2001:db8::/32', true],
  ['x', 'x', true],
  ['x', '10.0.0.1', false],
])('%s contains %s: %s', (block, entry, expected) => {
  expect(containsNetwork(block, entry)).toBe(expected);
});

describe('a plain address', () => {
  it.each([
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:FFFF:192.0.2.1', '192.0.2.1'],
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['::192.0.2.1', '::192.0.2.1'],
    ['::ffff:0:192.0.2.1', '::ffff:0:192.0.2.1'],
    ['::1', '::1'],
    ['unknown', 'unknown'],
  ])('%s is %s', (socket, plain) => {
    expect(plainAddress(socket)).toBe(plain);
  });
});

/** An address or block as a BigInt, which is the model that the list is compared with. */
interface Numbered {
  readonly bits: 32 | 128;
  readonly number: bigint;
}

interface Block extends Numbered {
  readonly prefix: number;
}

function contains({ bits, number, prefix }: Block, address: Numbered): boolean {
  const shift = BigInt(bits - prefix);
  return bits === address.bits && number >> shift === address.number >> shift;
}

function randomNumber(random: SeededRandom, bits: number): bigint {
  let number = 0n;
  for (let bit = 0; bit < bits; bit += 16)
    number = (number << 16n) | BigInt(random.oneIn(3) ? 0 : random.below(65_536));
  return isMapped(number) ? number + (1n << 100n) : number;
}

function isMapped(number: bigint): boolean {
  return number >> 32n === 0xffffn;
}

function randomBlock(random: SeededRandom): Block {
  const bits = random.oneIn(2) ? 32 : 128;
  const prefix = random.below(bits + 1);
  const host = BigInt(bits - prefix);
  const number = (randomNumber(random, bits) >> host) << host;
  return isMapped(number) ? { bits: 32, number: 0n, prefix: 0 } : { bits, number, prefix };
}

/** Half of the addresses are at or just beyond an edge of a block. */
function randomAddress(random: SeededRandom, blocks: readonly Block[]): Numbered {
  const { bits, number, prefix } = random.of(blocks);
  if (random.oneIn(4)) {
    const other = random.oneIn(2) ? 32 : 128;
    return { bits: other, number: randomNumber(random, other) };
  }
  const size = 1n << BigInt(bits - prefix);
  const near = number + random.of([0n, size - 1n, size, -1n, size / 2n]);
  const inRange = near < 0n || near >> BigInt(bits) > 0n ? number : near;
  return isMapped(inRange) ? { bits: 32, number: inRange & 0xffff_ffffn } : { bits, number: inRange };
}

function spelledBlock(random: SeededRandom, { bits, number, prefix }: Block): string {
  const isLongest = prefix === bits && random.oneIn(2);
  const isMappedSpelling = bits === 32 && random.oneIn(4);
  const address = isMappedSpelling ? `::ffff:${ipv4Text(number)}` : plainText(random, bits, number);
  return isLongest ? address : `${address}/${isMappedSpelling ? prefix + 96 : prefix}`;
}

function spelledAddress(random: SeededRandom, { bits, number }: Numbered): string {
  if (bits === 32 && random.oneIn(4)) return plainText(random, 128, (0xffffn << 32n) | number);
  return plainText(random, bits, number);
}

function plainText(random: SeededRandom, bits: number, number: bigint): string {
  return bits === 32 ? ipv4Text(number) : ipv6Text(random, number);
}

function ipv4Text(number: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 255n).join('.');
}

/** Returns a random notation of RFC 4291 section 2.2: leading zeros, upper case, `::`, a dotted end. */
function ipv6Text(random: SeededRandom, number: bigint): string {
  const isDotted = random.oneIn(4);
  const groups = Array.from({ length: isDotted ? 6 : 8 }, (_, index) => {
    const text = ((number >> BigInt(112 - index * 16)) & 0xffffn).toString(16);
    return random.oneIn(4) ? text.padStart(4, '0') : random.oneIn(4) ? text.toUpperCase() : text;
  });
  if (isDotted) groups.push(ipv4Text(number & 0xffff_ffffn));
  const zeros = groups.findIndex((group) => /^0+$/.test(group));
  if (zeros < 0 || random.oneIn(2)) return groups.join(':');
  let end = zeros;
  while (end < groups.length && /^0+$/.test(groups[end] ?? '')) end++;
  return `${groups.slice(0, zeros).join(':')}::${groups.slice(end).join(':')}`;
}
