/** The `Host` of a request, and the authority of an absolute target: what may stand there. */
import { isIPv6 } from 'node:net';

/**
 * A name or an IPv4 address of unreserved characters, with or without a port (RFC 3986
 * section 3.2): what nearly everybody sends.
 */
const NAME = /^[A-Za-z0-9._~-]+$/;
const USUAL = /^[A-Za-z0-9._~-]+(?::(\d{0,5}))?$/;
const LARGEST_PORT = 65_535;
/**
 * Without a zone, which means something to the sender's machine alone, and without the address forms
 * of the future, which nobody can reach.
 */
const LITERAL = /^\[([0-9A-Fa-f:.]+)\](?::(\d{0,5}))?$/;

/**
 * Reports whether a text is `uri-host [":" port]` (RFC 9110 section 7.2) of a name that DNS can know, or of an address.
 * The port may be empty. Sub-delimiters are refused: a comma or a quote would end the host in `Forwarded`. So is
 * percent-encoding: no client sends it, and backends that decode it read another host (`a%0d%0ab`).
 */
export function isHost(text: string): boolean {
  // Nearly every host is a name without a port: a match would allocate.
  if (NAME.test(text)) return true;
  const usual = USUAL.exec(text);
  if (usual !== null) return isPort(usual[1]);
  const [, address = '', port] = LITERAL.exec(text) ?? [];
  return isIPv6(address) && isPort(port);
}

function isPort(digits: string | undefined): boolean {
  return digits === undefined || Number(digits) <= LARGEST_PORT;
}
