/**
 * Why a connection could not be opened: the other side, the way to it, or
 * ourselves. The system's codes do not always tell.
 */
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { resourceOf, SHORTAGES } from '../../platform/resources/shortages.js';
import { connectionError } from '../grammar/errors.js';

/** The calls to the system by which a connection is opened. */
const OPENING: ReadonlySet<string> = new Set(['getaddrinfo', 'connect']);

interface ConnectError extends Error {
  readonly code?: string;
  readonly syscall?: string;
  /** Where it was to lead. */
  readonly address?: string;
  /** One for each address of a name, where it has several. */
  readonly errors?: readonly ConnectError[];
}

/**
 * The error by which a connection that could not be opened is judged: where a name has several addresses, one that
 * failed for another reason than ours. What we have run out of ourselves is noted, and has a code of its own. Any other
 * error is returned as it is.
 */
export function connectError(error: ConnectError): Error {
  const causes = error.errors ?? [error];
  const codes = causes.map(codeOf);
  const theirs = codes.findIndex((code) => resourceOf(code) === undefined);
  if (theirs !== -1) return causes[theirs] ?? error;
  const [code = ''] = codes;
  const resource = resourceOf(code);
  if (resource === undefined) return error;
  SHORTAGES.note(resource, 'connect', code);
  return connectionError(resource === 'ports' ? 'TRAILGATE_OUT_OF_PORTS' : 'TRAILGATE_OUT_OF_RESOURCES', code);
}

/**
 * The code that says what happened.
 * - Without a free file descriptor the C library opens neither its files nor a socket, and says of a name whatever
 *   comes to it: that there is none, or to try again; `EBUSY` it says of nothing else. So no look-up that fails is
 *   believed before it is known that a file can be opened.
 * - An address of a family that this machine does not have fails as if all ports were in use.
 */
function codeOf({ code = '', syscall, address }: ConnectError): string {
  if (syscall === 'getaddrinfo' && resourceOf(code) === undefined) {
    return code === 'EBUSY' || SHORTAGES.isOutOfDescriptors ? 'EMFILE' : code;
  }
  if (syscall === undefined || !OPENING.has(syscall)) return '';
  return code === 'EADDRNOTAVAIL' && address !== undefined && isIPv6(address) && !hasIpv6() ? 'EAFNOSUPPORT' : code;
}

function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ family }) => family === 'IPv6'));
}
