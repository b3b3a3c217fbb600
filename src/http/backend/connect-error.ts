/**
 * Determines why a connection could not be opened: because of the server, the network, or a shortage of resources in
 * this process. The system's error codes alone can be misleading.
 */
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { resourceOf, SHORTAGES } from '../../platform/resources/shortages.js';
import { connectionError } from '../grammar/errors.js';

/** System calls whose errors mean that a connection could not be opened. */
const OPENING: ReadonlySet<string> = new Set(['getaddrinfo', 'connect']);

interface ConnectError extends Error {
  readonly code?: string;
  readonly syscall?: string;
  readonly address?: string;
  /** One error per address. Undefined if only one address was tried. */
  readonly errors?: readonly ConnectError[];
}

/**
 * Returns the error that explains why a connection could not be opened. If the host name has several addresses, an
 * error that is not a shortage of this process takes precedence. A shortage is recorded in `SHORTAGES` and returned as
 * `TRAILGATE_OUT_OF_PORTS` or `TRAILGATE_OUT_OF_RESOURCES`. Any other error is returned unchanged.
 */
export function connectError(error: ConnectError): Error {
  const causes = error.errors ?? [error];
  const codes = causes.map(codeOf);
  const externalIndex = codes.findIndex((code) => resourceOf(code) === undefined);
  if (externalIndex !== -1) return causes[externalIndex] ?? error;
  const [code = ''] = codes;
  const resource = resourceOf(code);
  if (resource === undefined) return error;
  SHORTAGES.record(resource, 'connect', code);
  return connectionError(resource === 'ports' ? 'TRAILGATE_OUT_OF_PORTS' : 'TRAILGATE_OUT_OF_RESOURCES', code);
}

/**
 * Returns the error code of the actual cause, or an empty string if the error did not come from opening a connection.
 * Corrects two misleading codes:
 * - Without a free file descriptor, the C library can open neither its configuration files nor a socket. It then
 *   reports a look-up as "not found" or "try again". `SHORTAGES` determines whether a descriptor is free. `EBUSY` has
 *   no other cause.
 * - For an IPv6 address on a machine without IPv6, the system reports that all ports are in use.
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
