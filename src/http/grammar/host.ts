/** Validates `Host` fields and the authority of absolute request targets. */
import { isIPv6 } from 'node:net';

/** Matches a DNS name or IPv4 address of unreserved characters (RFC 3986 section 3.2.2). */
const NAME = /^[A-Za-z0-9._~-]+$/;
/** Matches a DNS name or IPv4 address with an optional port. */
const NAME_AND_PORT = /^[A-Za-z0-9._~-]+(?::(\d{0,5}))?$/;
const LARGEST_PORT = 65_535;
/**
 * Matches an IPv6 address in brackets with an optional port. Zone IDs are refused, because they have a meaning only on
 * the sender's machine. IPvFuture is not supported.
 */
const IPV6_LITERAL = /^\[([0-9A-Fa-f:.]+)\](?::(\d{0,5}))?$/;

/**
 * Reports whether a text is `uri-host [":" port]` (RFC 9110 section 7.2) with a DNS name or an IP address. The port may
 * be empty. Sub-delimiters are refused, because a comma or quote would end the host in `Forwarded`. Percent-encoding is
 * refused, because some backends decode it to another host (`a%0d%0ab`).
 */
export function isHost(text: string): boolean {
  // Fast path, because a match object would be allocated.
  if (NAME.test(text)) return true;
  const name = NAME_AND_PORT.exec(text);
  if (name !== null) return isPort(name[1]);
  const [, address = '', port] = IPV6_LITERAL.exec(text) ?? [];
  return isIPv6(address) && isPort(port);
}

function isPort(digits: string | undefined): boolean {
  return digits === undefined || Number(digits) <= LARGEST_PORT;
}
