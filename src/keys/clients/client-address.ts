/**
 * Where a request comes from: what a trusted proxy says, as far as it is an address; else the other end of the
 * connection.
 */
import { isIP } from 'node:net';
import { NetworkList, plainAddress } from '../../platform/network-list.js';

/** Reports whether an address is that of a proxy of ours. */
export type Trusts = (address: string) => boolean;

/** Returns what tells whether an address belongs to these proxies; undefined where there are none. */
export function trustsOf(trustedProxies: readonly string[]): Trusts | undefined {
  if (trustedProxies.length === 0) return undefined;
  const list = NetworkList.of(trustedProxies);
  return (address) => list.holds(address);
}

/**
 * Gives the address of the client: the last one of `X-Forwarded-For` that none of our proxies has, going back from the
 * connection's; the connection's where one of them is no address, or no proxy of ours has sent it.
 * @param forwardedFor the field as it came, with all its lines.
 */
export function clientAddress(
  remoteAddress: string | undefined,
  forwardedFor: string | undefined,
  trusts: Trusts | undefined,
): string {
  const direct = plainAddress(remoteAddress ?? '');
  if (trusts === undefined || forwardedFor === undefined) return direct;
  let address = direct;
  for (const told of forwardedFor.split(',').toReversed()) {
    if (!trusts(address)) break;
    const next = withoutPort(told.trim());
    if (isIP(next) === 0) return direct;
    address = plainAddress(next);
  }
  return address;
}

/** Some load balancers add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const ADDRESS_AND_PORT = /^(?:\[([0-9A-Fa-f:.]+)\]|(\d{1,3}(?:\.\d{1,3}){3}))(?::\d{1,5})?$/;

function withoutPort(told: string): string {
  const [, ipv6, ipv4] = ADDRESS_AND_PORT.exec(told) ?? [];
  return ipv6 ?? ipv4 ?? told;
}
