/** Validation of `Host` and of the authority of absolute targets. */
import { isIPv6 } from 'node:net';

/** A name or IPv4 address of unreserved characters, with an optional port (RFC 3986 section 3.2). The usual case. */
const NAME = /^[A-Za-z0-9._~-]+$/;
const USUAL = /^[A-Za-z0-9._~-]+(?::(\d{0,5}))?$/;
const LARGEST_PORT = 65_535;
/** An IPv6 address without a zone, which only the sender's machine understands. IPvFuture is not supported. */
const LITERAL = /^\[([0-9A-Fa-f:.]+)\](?::(\d{0,5}))?$/;

/**
 * Reports whether a text is `uri-host [":" port]` (RFC 9110 section 7.2) with a DNS name or an address. The port may be
 * empty. Sub-delimiters are refused, because a comma or quote would end the host in `Forwarded`. Percent-encoding is
 * refused, because some backends decode it to another host (`a%0d%0ab`).
 */
export function isHost(text: string): boolean {
  // Fast path without a match object, which would allocate.
  if (NAME.test(text)) return true;
  const usual = USUAL.exec(text);
  if (usual !== null) return isPort(usual[1]);
  const [, address = '', port] = LITERAL.exec(text) ?? [];
  return isIPv6(address) && isPort(port);
}

function isPort(digits: string | undefined): boolean {
  return digits === undefined || Number(digits) <= LARGEST_PORT;
}
