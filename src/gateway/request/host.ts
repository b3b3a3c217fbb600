/** Validation of `Host` and of the authority of absolute targets. */
import { isIPv6 } from 'node:net';

/** A DNS name or IPv4 address of unreserved characters (RFC 3986 section 3.2). */
const NAME = /^[A-Za-z0-9._~-]+$/;
/** A DNS name or IPv4 address, with an optional port. */
const NAME_AND_PORT = /^[A-Za-z0-9._~-]+(?::(\d{0,5}))?$/;
const LARGEST_PORT = 65_535;
/**
 * An IPv6 address in brackets, with an optional port. Zones are refused, because only the sender's machine understands
 * them. IPvFuture is not supported.
 */
const IPV6_LITERAL = /^\[([0-9A-Fa-f:.]+)\](?::(\d{0,5}))?$/;

/**
 * Reports whether a text is `uri-host [":" port]` (RFC 9110 section 7.2) with a DNS name or an IP address. The port may
 * be empty. Sub-delimiters are refused, because a comma or quote would end the host in `Forwarded`. Percent-encoding is
 * refused, because some backends decode it to another host (`a%0d%0ab`).
 */
export function isHost(text: string): boolean {
  // Fast path without a match object, which would allocate.
  if (NAME.test(text)) return true;
  const name = NAME_AND_PORT.exec(text);
  if (name !== null) return isPort(name[1]);
  const [, address = '', port] = IPV6_LITERAL.exec(text) ?? [];
  return isIPv6(address) && isPort(port);
}

function isPort(digits: string | undefined): boolean {
  return digits === undefined || Number(digits) <= LARGEST_PORT;
}
