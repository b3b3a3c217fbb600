/** Maps client addresses to the networks by which rate limits count requests. */
import { isIPv6 } from 'node:net';
import { ipv6Groups, NetworkList, plainAddress } from '../platform/network-list.js';

/** Number of 16-bit groups in the IPv6 prefix of a network (/64) and of a site (/48). */
const NETWORK_GROUPS = 4;
const SITE_GROUPS = 3;

/**
 * Returns the network of a client. For IPv4 and IPv4-mapped IPv6, the network is the IPv4 address. For IPv6, the
 * network is the /64, such as `2001:db8:0:1::/64`, because one subscriber controls all of its addresses (RFC 6177).
 * Returns any other text unchanged.
 */
export function clientNetwork(address: string): string {
  return prefixOf(address, NETWORK_GROUPS);
}

/** Returns the largest network that one subscriber usually has: an IPv4 address, or the /48 of an IPv6 address. */
export function clientSite(address: string): string {
  return prefixOf(address, SITE_GROUPS);
}

function prefixOf(address: string, groupCount: number): string {
  const plain = plainAddress(address);
  if (!plain.includes(':') || !isIPv6(plain)) return plain;
  const network = ipv6Groups(plain)
    .slice(0, groupCount)
    .map((group) => group.toString(16));
  return `${network.join(':')}::/${groupCount * 16}`;
}

/** Private, shared, loopback and link-local networks. */
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

/** Reports whether an address is in a private, shared, loopback or link-local network. */
export function isPrivateAddress(address: string): boolean {
  return PRIVATE.holds(address);
}
