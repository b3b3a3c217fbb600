/**
 * Parses and matches lists of networks in settings and API fields. IPv4 and IPv6 never match each other. IPv4-mapped
 * addresses and blocks (RFC 4291 section 2.5.5.2) count as IPv4, so `::/0` contains no IPv4 address.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const MAPPED = '::ffff:';
const MAPPED_BITS = 96;
const IPV4_BITS = 32;
const IPV6_BITS = 128;
/** Matches the start of an IPv4-mapped address in any notation. */
const MAPPED_START = /^[0:]+:ffff:/i;
const PREFIX = /^(?:0|[1-9]\d{0,2})$/;
/** ipaddr.js reads the deprecated `::192.0.2.1` as `::ffff:192.0.2.1`, unless zero groups precede it. */
const IPV4_COMPATIBLE = /^::(?=\d+\.)/;
const ZERO = 48;
const NINE = 57;
const DOT = 46;

/**
 * Network is a CIDR block. A single address has the maximum prefix length. The address may have host bits, which
 * `withoutHostBits` clears.
 */
type Network = readonly [address: ipaddr.IPv4 | ipaddr.IPv6, prefix: number];

/** NetworkFault says why an entry is not valid. */
export interface NetworkFault {
  readonly reason: 'syntax' | 'host_bits' | 'mapped_prefix';
  /** Suggested replacement. Undefined if there is none. */
  readonly instead: string | undefined;
}

/** Returns what is wrong with an entry, or undefined if it is valid. */
export function networkFault(entry: string): NetworkFault | undefined {
  const parsed = readNetwork(entry);
  if (!isNetwork(parsed)) return parsed;
  const network = withoutHostBits(parsed);
  return isSame(parsed, network) ? undefined : { reason: 'host_bits', instead: textOf(network) };
}

/** Returns the stored form of a valid entry. IPv4-mapped entries become IPv4. Other entries keep their notation. */
export function plainNetwork(entry: string): string {
  const parsed = readNetwork(entry);
  return entry.includes(':') && isNetwork(parsed) && parsed[0].kind() === 'ipv4' ? textOf(parsed) : entry;
}

/**
 * Reports whether a block contains another block or address of the same family. If either text is invalid, reports
 * whether the texts are equal.
 */
export function containsNetwork(block: string, entry: string): boolean {
  const [outer, inner] = [readNetwork(block), readNetwork(entry)];
  if (!isNetwork(outer) || !isNetwork(inner)) return block === entry;
  const isSameFamily = isIpv4(outer) === isIpv4(inner);
  return isSameFamily && inner[1] >= outer[1] && inner[0].match(outer[0], outer[1]);
}

/** NetworkList is a parsed list for matching addresses on every request. */
export class NetworkList {
  /** Network and mask of each IPv4 block, alternating. */
  private readonly ipv4: readonly number[];
  private readonly ipv6: readonly Network[];

  private constructor(networks: readonly Network[]) {
    this.ipv4 = networks.filter(isIpv4).flatMap(([address, prefix]) => [numberOf(address), maskOf(prefix)]);
    this.ipv6 = networks.filter((network) => !isIpv4(network));
  }

  /**
   * Creates a list from entries that `networkFault` has accepted.
   * @throws Error for invalid entries.
   */
  static of(entries: readonly string[]): NetworkList {
    return NetworkList.reading(entries, (entry) => {
      throw new Error(`"${entry}" is not a network`);
    });
  }

  /**
   * Creates a list from stored entries, which older rules may have accepted. Ignores host bits, as the older rules did.
   * @param onUnreadable called with each invalid entry, which matches no address
   */
  static reading(entries: readonly string[], onUnreadable: (entry: string) => void): NetworkList {
    const networks: Network[] = [];
    for (const entry of entries) {
      const parsed = readNetwork(entry);
      if (isNetwork(parsed)) networks.push(withoutHostBits(parsed));
      else onUnreadable(entry);
    }
    return new NetworkList(networks);
  }

  /**
   * Reports whether the list contains an address. Returns false for a text that is not an address. Ignores an IPv6
   * zone.
   */
  holds(address: string): boolean {
    // Most addresses are IPv4. For these, the check allocates nothing.
    const ipv4 = ipv4Number(address, address.startsWith(MAPPED) ? MAPPED.length : 0);
    if (ipv4 !== undefined) return this.holdsIpv4(ipv4);
    if (!address.includes(':')) return false;
    const parsed = parseAddress(address);
    if (parsed === undefined) return false;
    return isIpv6(parsed)
      ? this.ipv6.some(([network, prefix]) => parsed.match(network, prefix))
      : this.holdsIpv4(numberOf(parsed));
  }

  private holdsIpv4(address: number): boolean {
    const { ipv4 } = this;
    for (let at = 0; at < ipv4.length; at += 2) {
      if ((address & (ipv4[at + 1] as number)) >>> 0 === ipv4[at]) return true;
    }
    return false;
  }
}

/**
 * Returns an IPv4-mapped address as IPv4, and any other text unchanged. Sockets and some proxies use mapped addresses.
 */
export function plainAddress(address: string): string {
  if (!MAPPED_START.test(address)) return address;
  const parsed = parseAddress(address);
  return parsed === undefined || isIpv6(parsed) ? address : parsed.toString();
}

/** Returns the eight groups of an IPv6 address in any notation, without its zone. */
export function ipv6Groups(address: string): readonly number[] {
  return ipaddr.IPv6.parse(toParserNotation(address)).parts;
}

/** Returns the IPv4 address in two groups of an IPv6 address, such as `192.0.2.1`. */
export function ipv4InGroups(high: number, low: number): string {
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

function readNetwork(entry: string): Network | NetworkFault {
  const [host = '', written, ...more] = entry.split('/');
  const address = host.includes('%') || more.length > 0 ? undefined : parseAddress(host);
  if (address === undefined) return { reason: 'syntax', instead: undefined };
  const isMapped = host.includes(':') && !isIpv6(address);
  const bits = host.includes(':') ? IPV6_BITS : IPV4_BITS;
  const prefix = written === undefined ? bits : PREFIX.test(written) ? Number(written) : Infinity;
  if (prefix > bits) return { reason: 'syntax', instead: undefined };
  if (!isMapped) return [address, prefix];
  if (prefix >= MAPPED_BITS) return [address, prefix - MAPPED_BITS];
  const suggestion = prefix <= IPV4_BITS ? textOf(withoutHostBits([address, prefix])) : undefined;
  return { reason: 'mapped_prefix', instead: suggestion };
}

/** Parses an address strictly. Returns IPv4-mapped addresses as IPv4. Returns undefined for an invalid address. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const family = isIP(text);
  if (family === 4) return ipaddr.IPv4.parse(text);
  if (family !== 6) return undefined;
  const address = ipaddr.IPv6.parse(toParserNotation(text));
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** Returns an IPv6 address without its zone, in a notation that ipaddr.js reads correctly. */
function toParserNotation(ipv6: string): string {
  const zoneAt = ipv6.indexOf('%');
  return (zoneAt < 0 ? ipv6 : ipv6.slice(0, zoneAt)).replace(IPV4_COMPATIBLE, '0:0:0:0:0:0:');
}

function withoutHostBits([address, prefix]: Network): Network {
  const cidr = `${address.toString()}/${prefix}`;
  return [(isIpv6(address) ? ipaddr.IPv6 : ipaddr.IPv4).networkAddressFromCIDR(cidr), prefix];
}

function isSame([one]: Network, [other]: Network): boolean {
  return one.toString() === other.toString();
}

function textOf([address, prefix]: Network): string {
  const bits = isIpv6(address) ? IPV6_BITS : IPV4_BITS;
  return prefix === bits ? address.toString() : `${address.toString()}/${prefix}`;
}

/**
 * Parses the text from index `from` as an IPv4 address. Returns undefined for other notations, such as `127.1` or
 * `010.0.0.1`.
 */
function ipv4Number(text: string, from: number): number | undefined {
  let address = 0;
  let parts = 0;
  for (let at = from; at <= text.length; at++) {
    const start = at;
    let part = 0;
    for (let code = text.charCodeAt(at); code >= ZERO && code <= NINE; code = text.charCodeAt(++at)) {
      part = part * 10 + code - ZERO;
    }
    const digits = at - start;
    if (digits < 1 || digits > 3 || part > 255 || (digits > 1 && text.charCodeAt(start) === ZERO)) return undefined;
    address = address * 256 + part;
    parts++;
    if (at < text.length && text.charCodeAt(at) !== DOT) return undefined;
  }
  return parts === 4 ? address : undefined;
}

function numberOf(address: ipaddr.IPv4 | ipaddr.IPv6): number {
  return address.toByteArray().reduce((number, byte) => number * 256 + byte, 0);
}

/** Returns the mask of a prefix as a signed number, for use with `&`. */
function maskOf(prefix: number): number {
  return prefix === 0 ? 0 : -1 << (IPV4_BITS - prefix);
}

function isNetwork(parsed: Network | NetworkFault): parsed is Network {
  return Array.isArray(parsed);
}

function isIpv4([address]: Network): boolean {
  return !isIpv6(address);
}

function isIpv6(address: ipaddr.IPv4 | ipaddr.IPv6): address is ipaddr.IPv6 {
  return address.kind() === 'ipv6';
}
