/**
 * Whose network an address belongs to, as far as that can be told from the address: what throttles by address count by.
 */
import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { plainAddress } from './address-list.js';

const GROUPS_OF_A_NETWORK = 4;
const GROUPS = 8;

/**
 * What stands for everyone who can choose between addresses: an IPv4 address alone, also inside IPv6; of IPv6 the /64
 * that one subscriber is given whole (RFC 6177), as `2001:db8:0:1::/64`. Anything else comes back as it is.
 */
export function clientNetwork(address: string): string {
  const plain = plainAddress(address);
  if (!plain.includes(':') || !isIPv6(plain)) return plain;
  const groups = groupsOf(plain);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) return embeddedIPv4(groups);
  const network = groups.slice(0, GROUPS_OF_A_NETWORK).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

/** The eight numbers of an IPv6 address in any of its spellings (RFC 4291 section 2.2), without its zone. */
function groupsOf(address: string): number[] {
  const [plain = ''] = address.split('%');
  const [left = '', right] = plain.split('::');
  const head = groupsOfPart(left);
  if (right === undefined) return head;
  const tail = groupsOfPart(right);
  return [...head, ...Array.from({ length: GROUPS - head.length - tail.length }, () => 0), ...tail];
}

function groupsOfPart(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

function embeddedIPv4(groups: readonly number[]): string {
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.');
}

/** Addresses that nobody on the internet comes from: whoever has one is a neighbour, or a proxy among ours. */
const PRIVATE = new BlockList();
PRIVATE.addSubnet('10.0.0.0', 8);
PRIVATE.addSubnet('100.64.0.0', 10);
PRIVATE.addSubnet('127.0.0.0', 8);
PRIVATE.addSubnet('169.254.0.0', 16);
PRIVATE.addSubnet('172.16.0.0', 12);
PRIVATE.addSubnet('192.168.0.0', 16);
PRIVATE.addAddress('::1', 'ipv6');
PRIVATE.addSubnet('fc00::', 7, 'ipv6');
PRIVATE.addSubnet('fe80::', 10, 'ipv6');

/** Whether an address is private, local or link-local. */
export function isPrivateAddress(address: string): boolean {
  const plain = plainAddress(address);
  if (isIPv4(plain)) return PRIVATE.check(plain, 'ipv4');
  return isIPv6(plain) && PRIVATE.check(plain, 'ipv6');
}
