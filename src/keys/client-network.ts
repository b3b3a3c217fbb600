/**
 * Whose network an address belongs to, as far as that can be told from the address: what throttles by address count by.
 */
import { isIPv6 } from 'node:net';
import { ipv6Groups, NetworkList, plainAddress } from '../platform/network-list.js';

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
  const network = ipv6Groups(plain)
    .slice(0, groupCount)
    .map((group) => group.toString(16));
  return `${network.join(':')}::/${groupCount * 16}`;
}

/** Networks without addresses of the internet: a client there is a neighbor, or a proxy of ours. */
const PRIVATE = NetworkList.of([
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1',
  'fc00::/7',
  'fe80::/10',
]);

/** Reports whether an address is private, local or link-local. */
export function isPrivateAddress(address: string): boolean {
  return PRIVATE.holds(address);
}
