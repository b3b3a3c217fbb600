/**
 * The PROXY protocol, versions 1 and 2 (HAProxy's `proxy-protocol.txt`): the first bytes of a connection in
 * which a load balancer that passes bytes on tells whose connection it is. Only its grammar; who is believed is
 * decided in `proxied-connections.ts`.
 */
import { isIPv4, isIPv6 } from 'node:net';

/** Who has opened the connection to the load balancer. */
export interface ProxySource {
  readonly address: string;
  readonly port: number;
}

/**
 * `bytes` of the header, and its source; undefined: the load balancer speaks for itself (a health check of its own).
 */
export interface ProxyHeader {
  readonly bytes: number;
  readonly source: ProxySource | undefined;
}

/** The longest line of version 1, with its end. */
const LONGEST_LINE_BYTES = 107;
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const FIXED_BYTES = 16;
/** With all the extensions (TLVs) that a load balancer may add: more than any does. */
const LARGEST_EXTENDED_BYTES = 4_096;
const PROXY_COMMAND = 0x21;
const LOCAL_COMMAND = 0x20;
const TCP_OVER_IPV4 = 0x11;
const TCP_OVER_IPV6 = 0x21;

/**
 * Reads the header at the beginning of a connection; `more`: it has not come whole yet;
 * `broken`: there is none, or a wrong one.
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader | 'more' | 'broken' {
  const compared = Math.min(bytes.length, SIGNATURE.length);
  if (bytes.subarray(0, compared).equals(SIGNATURE.subarray(0, compared))) {
    return bytes.length < FIXED_BYTES ? 'more' : readBinary(bytes);
  }
  return readLine(bytes.toString('latin1', 0, LONGEST_LINE_BYTES));
}

/** Version 1: `PROXY TCP4 192.0.2.1 198.51.100.1 56324 443` and CRLF. */
function readLine(text: string): ProxyHeader | 'more' | 'broken' {
  const end = text.indexOf('\r\n');
  if (end === -1) return 'PROXY '.startsWith(text.slice(0, 6)) && text.length < LONGEST_LINE_BYTES ? 'more' : 'broken';
  const [proxy, family, address = '', to = '', port = '', ...more] = text.slice(0, end).split(' ');
  if (proxy !== 'PROXY') return 'broken';
  const bytes = end + 2;
  // What follows is to be ignored.
  if (family === 'UNKNOWN') return { bytes, source: undefined };
  const isAddress = family === 'TCP4' ? isIPv4 : family === 'TCP6' ? isIPv6 : () => false;
  const isWhole = isAddress(address) && isAddress(to) && more.length === 1 && [port, ...more].every(isPort);
  return isWhole ? { bytes, source: { address, port: Number(port) } } : 'broken';
}

function isPort(text: string): boolean {
  return /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;
}

/** Version 2: signature, command, family, length, addresses, extensions. */
function readBinary(bytes: Buffer): ProxyHeader | 'more' | 'broken' {
  const [command, family] = [bytes[12], bytes[13]];
  const length = FIXED_BYTES + bytes.readUInt16BE(14);
  if ((command !== PROXY_COMMAND && command !== LOCAL_COMMAND) || length > LARGEST_EXTENDED_BYTES) return 'broken';
  if (bytes.length < length) return 'more';
  const addresses = bytes.subarray(FIXED_BYTES, length);
  if (command === LOCAL_COMMAND) return { bytes: length, source: undefined };
  if (family === TCP_OVER_IPV4) return withSource(length, addresses, 4, (part) => part.join('.'));
  if (family === TCP_OVER_IPV6) return withSource(length, addresses, 16, ipv6Text);
  // UNSPEC, UDP and sockets of a machine: nothing that could be a client's address here.
  return { bytes: length, source: undefined };
}

function withSource(
  length: number,
  addresses: Buffer,
  size: number,
  asText: (part: Buffer) => string,
): ProxyHeader | 'broken' {
  if (addresses.length < 2 * size + 4) return 'broken';
  return {
    bytes: length,
    source: { address: asText(addresses.subarray(0, size)), port: addresses.readUInt16BE(2 * size) },
  };
}

function ipv6Text(part: Buffer): string {
  const groups = Array.from({ length: 8 }, (_none, index) => part.readUInt16BE(2 * index).toString(16));
  // The one way to write an address (RFC 5952), as sockets do.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
