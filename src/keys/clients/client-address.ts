/** Determines the client address of a request from `X-Forwarded-For` and the trusted proxies. */
import { isIP } from 'node:net';
import { NetworkList, plainAddress } from '../../platform/network-list.js';

/** Trusts reports whether an address is that of a trusted proxy. */
export type Trusts = (address: string) => boolean;

/**
 * Creates the `Trusts` function for a list of trusted addresses and networks. Returns undefined if the list is empty.
 */
export function trustsOf(trustedProxies: readonly string[]): Trusts | undefined {
  if (trustedProxies.length === 0) return undefined;
  const list = NetworkList.of(trustedProxies);
  return (address) => list.holds(address);
}

/**
 * Returns the IP address of the client. Reads `X-Forwarded-For` from the end, and returns the first address that is not
 * a trusted proxy. If all addresses are trusted proxies, returns the first entry of the header. Returns the address of
 * the connection if its peer is not a trusted proxy, or if an entry is malformed.
 * @param forwardedFor all values of the header, joined with commas. Undefined if the header is missing.
 */
export function clientAddress(
  remoteAddress: string | undefined,
  forwardedFor: string | undefined,
  trusts: Trusts | undefined,
): string {
  const direct = plainAddress(remoteAddress ?? '');
  if (trusts === undefined || forwardedFor === undefined) return direct;
  let address = direct;
  for (const entry of forwardedFor.split(',').toReversed()) {
    if (!trusts(address)) break;
    const next = withoutPort(entry.trim());
    if (isIP(next) === 0) return direct;
    address = plainAddress(next);
  }
  return address;
}

/**
 * Matches addresses with an optional port, which some load balancers append: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
 */
const ADDRESS_AND_PORT = /^(?:\[([0-9A-Fa-f:.]+)\]|(\d{1,3}(?:\.\d{1,3}){3}))(?::\d{1,5})?$/;

function withoutPort(entry: string): string {
  const [, ipv6, ipv4] = ADDRESS_AND_PORT.exec(entry) ?? [];
  return ipv6 ?? ipv4 ?? entry;
}
