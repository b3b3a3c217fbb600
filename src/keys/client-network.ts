/**
 * Whose network an address belongs to, as far as that can be told from the address: what throttles by address count by.
 */
import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { ipv4InGroups, ipv6Groups } from '../platform/ipv6-groups.js';
import { plainAddress } from './address-list.js';

const GROUPS_OF_A_NETWORK = 4;
const GROUPS_OF_A_SITE = 3;

/**
 * What stands for everyone who can choose between addresses: an IPv4 address alone, also inside IPv6; of IPv6 the /64
 * that one subscriber is given whole (RFC 6177), as `2001:db8:0:1::/64`. Anything else comes back as it is.
 */
export function clientNetwork(address: string): string {
  return prefixOf(address, GROUPS_OF_A_NETWORK);
}

/** Returns the widest network that one subscriber holds: an IPv4 address alone, the /48 of an IPv6 address. */
export function clientSite(address: string): string {
  return prefixOf(address, GROUPS_OF_A_SITE);
}

function prefixOf(address: string, groupCount: number): string {
  const plain = plainAddress(address);
  if (!plain.includes(':') || !isIPv6(plain)) return plain;
  const groups = ipv6Groups(plain);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff)
    return ipv4InGroups(groups[6] ?? 0, groups[7] ?? 0);
  const network = groups.slice(0, groupCount).map((group) => group.toString(16));
  return `${network.join(':')}::/${groupCount * 16}`;
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
