/**
 * Responds to OPTIONS requests that the gateway must not forward: requests about the whole server, and requests with
 * `Max-Forwards: 0`. For preflights, see `cors.ts`.
 */
import { Problem } from '../../platform/problems/errors.js';
import type { ClientMessage } from '../../http/client/client-response.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import { hasBody } from '../../proxy/calls/request-body.js';
import { forwardsLeft } from '../../proxy/fields/max-forwards.js';
import type { Exchange } from './exchange.js';
import type { Routes } from '../../admission/routes.js';

/** `Allow` value with all methods that an operation can have. */
export const SERVER_METHODS = 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT';

/**
 * Reports whether a request is OPTIONS for the whole server (RFC 9112 section 3.2.4). Such a request is never
 * forwarded.
 */
export function isServerWideOptions({ method, url, message }: Exchange): boolean {
  return url === '*' && method === 'OPTIONS' && !hasBody(message);
}

/** Returns the error in `Max-Forwards`, or undefined if the field is valid or missing. */
export function forwardsProblem(message: ClientMessage): Problem | undefined {
  if (!Number.isNaN(forwardsLeft(message))) return undefined;
  return new Problem('bad_request', { detail: 'Max-Forwards is not a number.' });
}

/**
 * Returns the `Allow` value for an OPTIONS request with `Max-Forwards: 0` (RFC 9110 section 7.6.2). Returns undefined
 * for a request that may be forwarded or matches no operation.
 */
export function methodsAtLastHop(exchange: Exchange, routes: Routes): string | undefined {
  const { method, path, message } = exchange;
  if (forwardsLeft(message) !== 0) return undefined;
  if (routes.match(method, path, message).kind !== 'operation') return undefined;
  return routes.methodsOf(exchange);
}

/**
 * Responds to an OPTIONS request with 204 and `Allow`.
 * @param allow value of the `Allow` field
 */
export function respondToOptions(exchange: Exchange, allow: string): void {
  exchange.nodeResponse.writeHead(204, ['Allow', allow, ...fieldsOfLines(exchange.responseLines)]);
  exchange.nodeResponse.end();
}
