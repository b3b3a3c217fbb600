/**
 * Parses the PROXY protocol, versions 1 and 2 (HAProxy's `proxy-protocol.txt`). A load balancer sends the header as the
 * first bytes of a connection. `proxied-connections.ts` decides which senders to trust.
 */
import { isIPv4, isIPv6 } from 'node:net';

/** ProxySource is the address and port of the client that connected to the load balancer. */
export interface ProxySource {
  readonly address: string;
  readonly port: number;
}

/**
 * ProxyHeader is a parsed header: its length in bytes, and the client. `source` is undefined if the header names no TCP
 * client, as for health checks of the load balancer.
 */
export interface ProxyHeader {
  readonly bytes: number;
  readonly source: ProxySource | undefined;
}

/** Maximum length of a version 1 header, including CRLF. */
const LONGEST_LINE_BYTES = 107;
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const FIXED_BYTES = 16;
/** Maximum length of a version 2 header with its extensions (TLVs). No load balancer sends a longer header. */
const LARGEST_EXTENDED_BYTES = 4_096;
const PROXY_COMMAND = 0x21;
const LOCAL_COMMAND = 0x20;
const TCP_OVER_IPV4 = 0x11;
const TCP_OVER_IPV6 = 0x21;

/**
 * Parses the PROXY header at the start of a connection. Returns `more` if the header is incomplete, and `broken` if it
 * is missing or invalid.
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader | 'more' | 'broken' {
  const compared = Math.min(bytes.length, SIGNATURE.length);
  if (bytes.subarray(0, compared).equals(SIGNATURE.subarray(0, compared))) {
    return bytes.length < FIXED_BYTES ? 'more' : readBinary(bytes);
  }
  return readLine(bytes.toString('latin1', 0, LONGEST_LINE_BYTES));
}

/** Parses a version 1 header, such as `PROXY TCP4 192.0.2.1 198.51.100.1 56324 443` and CRLF. */
function readLine(text: string): ProxyHeader | 'more' | 'broken' {
  const end = text.indexOf('\r\n');
  if (end === -1) return 'PROXY '.startsWith(text.slice(0, 6)) && text.length < LONGEST_LINE_BYTES ? 'more' : 'broken';
  const [proxy, family, address = '', to = '', port = '', ...more] = text.slice(0, end).split(' ');
  if (proxy !== 'PROXY') return 'broken';
  const bytes = end + 2;
  // The specification requires that the rest of an `UNKNOWN` line is ignored.
  if (family === 'UNKNOWN') return { bytes, source: undefined };
  const isAddress = family === 'TCP4' ? isIPv4 : family === 'TCP6' ? isIPv6 : () => false;
  const isValid = isAddress(address) && isAddress(to) && more.length === 1 && [port, ...more].every(isPort);
  return isValid ? { bytes, source: { address, port: Number(port) } } : 'broken';
}

function isPort(text: string): boolean {
  return /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;
}

/** Parses a version 2 header: signature, command, family, length, addresses and extensions. */
function readBinary(bytes: Buffer): ProxyHeader | 'more' | 'broken' {
  const [command, family] = [bytes[12], bytes[13]];
  const length = FIXED_BYTES + bytes.readUInt16BE(14);
  if ((command !== PROXY_COMMAND && command !== LOCAL_COMMAND) || length > LARGEST_EXTENDED_BYTES) return 'broken';
  if (bytes.length < length) return 'more';
  const addresses = bytes.subarray(FIXED_BYTES, length);
  if (command === LOCAL_COMMAND) return { bytes: length, source: undefined };
  if (family === TCP_OVER_IPV4) return withSource(length, addresses, 4, (part) => part.join('.'));
  if (family === TCP_OVER_IPV6) return withSource(length, addresses, 16, ipv6Text);
  // Headers for UNSPEC, UDP and Unix sockets have no TCP client.
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
  // `URL` converts the address to its canonical form (RFC 5952), in which sockets report addresses.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
