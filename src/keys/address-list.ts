/** The addresses that a key may be used from. */
import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** A list of addresses and CIDR blocks, ready to be asked; undefined where any address is allowed. */
export function addressList(entries: readonly string[]): BlockList | undefined {
  if (entries.length === 0) return undefined;
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

/** Whether the list holds an address, IPv4 inside IPv6 (`::ffff:192.0.2.1`) counted as IPv4. */
export function holdsAddress(list: BlockList, address: string): boolean {
  const plain = plainAddress(address);
  if (isIPv4(plain)) return list.check(plain, 'ipv4');
  return isIPv6(plain) && list.check(plain, 'ipv6');
}

/** An address as people write it: IPv4 without the prefix that a dual-stack socket puts before it. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address;
}
