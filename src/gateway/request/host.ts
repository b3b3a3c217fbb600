/** The `Host` of a request, and the authority of an absolute target: what may stand there. */
import { isIPv6 } from 'node:net';

/**
 * A name or an IPv4 address of unreserved characters, with or without a port (RFC 3986
 * section 3.2): what nearly everybody sends.
 */
const USUAL = /^[A-Za-z0-9._~-]+(?::\d{0,5})?$/;
const ENCODED = /^(?:[A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})+(?::\d{0,5})?$/;
/**
 * Without a zone, which means something to the sender's machine alone, and without the address forms
 * of the future, which nobody can reach.
 */
const LITERAL = /^\[([0-9A-Fa-f:.]+)\](?::\d{0,5})?$/;

/**
 * Whether a text is `uri-host [":" port]` (RFC 9110 section 7.2) of a name that DNS can know, or of an address. The
 * port may be empty; no sub-delimiters: a comma or a quote would end what is said of the host in `Forwarded`.
 */
export function isHost(text: string): boolean {
  if (USUAL.test(text) || ENCODED.test(text)) return true;
  const address = LITERAL.exec(text)?.[1];
  return address !== undefined && isIPv6(address);
}
