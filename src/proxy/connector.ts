/** How connections to backends are made: to a resolved address, with the service's TLS, and with resets that keep their name. */
import type { LookupAddress } from 'node:dns';
import type { LookupFunction, Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { BackendTls } from './backend-tls.js';

/**
 * Makes connections, HTTP/1.1 only: with HTTP/2 one connection would stand for many, and limits by connections mean something else.
 * @param address where to; undefined: to the host of the URL.
 */
export function backendConnector(
  address: LookupAddress | undefined,
  timeoutMs: number,
  tls?: BackendTls,
): buildConnector.connector {
  const options = { timeout: timeoutMs, allowH2: false, ...(address === undefined ? {} : { lookup: lookup(address) }) };
  const plain = buildConnector(options);
  let builtFor = tls?.current;
  let secure = tls === undefined ? plain : buildConnector({ ...options, ...tls.current, ...tls.serverName });
  return (where, callback) => {
    if (tls !== undefined && builtFor !== tls.current) {
      builtFor = tls.current;
      secure = buildConnector({ ...options, ...tls.current, ...tls.serverName });
    }
    const connect = where.protocol === 'https:' ? secure : plain;
    connect(where, (...result) => {
      result[1]?.on('error', nameReset);
      callback(...result);
    });
  };
}

function lookup(address: LookupAddress): LookupFunction {
  return (_host, options, callback) => {
    if (options.all === true) callback(null, [address]);
    else callback(null, address.address, address.family);
  };
}

/**
 * undici takes `ECONNRESET` behind a head without a length for the end of the body. A reset is no end (RFC 9112 section 8): the
 * answer would look whole to the client. Under another name it is an error like any.
 */
function nameReset(this: Socket, error: Error & { code?: string }): void {
  if (error.code === 'ECONNRESET') error.code = 'TRAILGATE_BACKEND_RESET';
}
