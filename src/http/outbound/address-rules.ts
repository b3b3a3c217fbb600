/**
 * Decides which addresses the gateway may connect to when a customer or another party has chosen the destination.
 * Addresses on the public internet are allowed, and private networks that the operator allows. Addresses are compared
 * as numbers, because one address can be written in many ways.
 */
import { isIPv4, isIPv6 } from 'node:net';
import { ipv4InGroups, ipv6Groups, NetworkList, plainAddress } from '../../platform/network-list.js';

export type AddressReason =
  | 'not_an_address'
  | 'unspecified'
  | 'loopback'
  | 'private'
  | 'shared'
  | 'link_local'
  | 'cloud_metadata'
  | 'multicast'
  | 'documentation'
  | 'benchmarking'
  | 'reserved'
  | 'transition'
  | 'embedded_ipv4'
  | 'not_global'
  | 'denied';

/**
 * Reasons that `allowPrivateNetworks` cannot override. No legitimate receiver has such an address, but the metadata
 * services of clouds do.
 */
const NEVER_ALLOWED: ReadonlySet<AddressReason> = new Set([
  'not_an_address',
  'unspecified',
  'link_local',
  'cloud_metadata',
  'multicast',
  'embedded_ipv4',
]);

type Networks = readonly (readonly [reason: AddressReason, ...networks: string[]])[];

/**
 * IANA's registry of special-purpose IPv4 addresses, and the metadata addresses of clouds. The first matching entry
 * applies.
 */
const SPECIAL_IPV4: Networks = [
  // Metadata services of Azure, Alibaba Cloud and Oracle Cloud. Other clouds use link-local addresses.
  ['cloud_metadata', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32'],
  ['unspecified', '0.0.0.0/8'],
  ['loopback', '127.0.0.0/8'],
  ['private', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  ['shared', '100.64.0.0/10'],
  ['link_local', '169.254.0.0/16'],
  ['documentation', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
  ['benchmarking', '198.18.0.0/15'],
  ['transition', '192.88.99.0/24'],
  ['multicast', '224.0.0.0/4'],
  ['reserved', '192.0.0.0/24', '240.0.0.0/4'],
];

/**
 * IANA's registry of special-purpose IPv6 addresses, and the metadata addresses of clouds. The first matching entry
 * applies. Other addresses outside 2000::/3 are not global either.
 */
const SPECIAL_IPV6: Networks = [
  // Metadata services of AWS, Google Cloud and Scaleway.
  ['cloud_metadata', 'fd00:ec2::254/128', 'fd00:ec2::23/128', 'fd20:ce::254/128', 'fd00:42::42/128'],
  ['unspecified', '::/128'],
  ['loopback', '::1/128'],
  // IPv4-translated (RFC 2765) and IPv4-compatible addresses, which systems route differently. IPv4-mapped addresses
  // are refused earlier.
  ['embedded_ipv4', '::ffff:0:0:0/96', '::/96'],
  ['private', 'fc00::/7', 'fec0::/10'],
  ['link_local', 'fe80::/10'],
  ['multicast', 'ff00::/8'],
  ['documentation', '2001:db8::/32', '3fff::/20'],
  ['benchmarking', '2001:2::/48'],
  // NAT64, Teredo and 6to4 addresses, which lead to an IPv4 address that has not been checked.
  ['transition', '64:ff9b::/96', '64:ff9b:1::/48', '2001::/32', '2002::/16'],
  ['reserved', '100::/64', '100:0:0:1::/64', '2001::/23', '5f00::/16'],
];

const GLOBAL_UNICAST = '2000::/3';
/** Prefix of IPv4 addresses in an IPv6-only network (NAT64, RFC 6052). */
const NAT64 = '64:ff9b::/96';
/**
 * Value that marks an interface ID with an IPv4 address (ISATAP, RFC 5214). The universal bit of the interface ID may
 * be set or not.
 */
const ISATAP = 0x5efe;
const UNIVERSAL_BIT = 0x0200;

/** Parses the CIDR blocks that an operator allows or denies. Returns undefined if there are none. */
export function namedNetworks(blocks: readonly string[]): NetworkList | undefined {
  return blocks.length === 0 ? undefined : NetworkList.of(blocks);
}

/**
 * Checks an address that a resolver or a socket has returned.
 * @returns the reason why the address is refused, or undefined if it is allowed.
 */
export function refusedAddress(
  address: string,
  allowed: NetworkList | undefined,
  denied?: NetworkList,
): AddressReason | undefined {
  if (!isIPv4(address)) {
    // A zone ID names a network interface of this machine.
    if (!isIPv6(address) || address.includes('%')) return 'not_an_address';
    if (plainAddress(address) !== address) return 'embedded_ipv4';
  }
  const isAllowed = allowed?.holds(address) === true;
  const isBehindNat64 = isAllowed && NAT64_LIST.holds(address);
  const reason = isBehindNat64
    ? refusedAddress(ipv4BehindNat64(address), allowed, denied)
    : unlessAllowed(specialReason(address), isAllowed);
  return reason ?? (denied?.holds(address) === true ? 'denied' : undefined);
}

function ipv4BehindNat64(address: string): string {
  const [, , , , , , high = 0, low = 0] = ipv6Groups(address);
  return ipv4InGroups(high, low);
}

function unlessAllowed(reason: AddressReason | undefined, isAllowed: boolean): AddressReason | undefined {
  return reason !== undefined && isAllowed && !NEVER_ALLOWED.has(reason) ? undefined : reason;
}

/** Returns the reason why an address is not on the public internet, or undefined if it is. */
function specialReason(address: string): AddressReason | undefined {
  const special = SPECIAL_LISTS.find(({ list }) => list.holds(address));
  if (special !== undefined) return special.reason;
  if (isIPv4(address)) return undefined;
  if (!GLOBAL_LIST.holds(address)) return 'not_global';
  const [, , , , flags = 0, kind, high = 0, low = 0] = ipv6Groups(address);
  const isTunnel = kind === ISATAP && (flags & ~UNIVERSAL_BIT) === 0;
  return isTunnel && specialReason(ipv4InGroups(high, low)) !== undefined ? 'transition' : undefined;
}

const SPECIAL_LISTS = [...SPECIAL_IPV4, ...SPECIAL_IPV6].map(([reason, ...blocks]) => ({
  reason,
  list: NetworkList.of(blocks),
}));
const GLOBAL_LIST = NetworkList.of([GLOBAL_UNICAST]);
const NAT64_LIST = NetworkList.of([NAT64]);
