/**
 * OPTIONS that the gateway answers by itself, beside preflights: of the server as a whole, and those that may be
 * forwarded no further.
 */
import { Problem } from '../../platform/problems/errors.js';
import type { ClientMessage } from '../../http/client/client-response.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import { hasBody } from '../../proxy/calls/request-body.js';
import { forwardsLeft } from '../../proxy/fields/max-forwards.js';
import type { Exchange } from './exchange.js';
import type { Routes } from '../../admission/routes.js';

/** Every method that an operation can have. */
export const SERVER_METHODS = 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT';

/**
 * Whether a request asks for what the server as a whole can do (RFC 9112 section 3.2.4); a backend is never asked for
 * it.
 */
export function isOfServer({ method, url, message }: Exchange): boolean {
  return url === '*' && method === 'OPTIONS' && !hasBody(message);
}

/** What is wrong with how far an OPTIONS may go. */
export function forwardsProblem(message: ClientMessage): Problem | undefined {
  if (!Number.isNaN(forwardsLeft(message))) return undefined;
  return new Problem('bad_request', { detail: 'Max-Forwards is not a number.' });
}

/**
 * The methods of what an OPTIONS asks for that ends here, as `Allow` lists them (RFC 9110 section 7.6.2); undefined
 * where it does not, or where nothing would be forwarded anyway.
 */
export function methodsAtLastHop(exchange: Exchange, routes: Routes): string | undefined {
  if (forwardsLeft(exchange.message) !== 0 || routes.match(exchange.method, exchange.path).kind !== 'operation')
    return undefined;
  return routes.methodsOf(exchange);
}

/** 204 with what may be asked for. @param allow methods, as `Allow` lists them. */
export function respondToOptions(exchange: Exchange, allow: string): void {
  exchange.nodeResponse.writeHead(204, ['Allow', allow, ...fieldsOfLines(exchange.responseLines)]);
  exchange.nodeResponse.end();
}
