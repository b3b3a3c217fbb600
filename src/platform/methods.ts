/** Checks that the method of a request is a known HTTP method. */
import { FixedProblem, type Problem } from './problems/errors.js';

/**
 * Registered methods (RFC 9110 section 16.1.1) that Node's parser supports. All other methods are unknown over HTTP/1.1
 * and HTTP/2 alike. These include unregistered methods that Node supports, such as PURGE and SOURCE.
 */
const KNOWN: ReadonlySet<string> = new Set(
  (
    'ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MOVE OPTIONS ' +
    'PATCH POST PROPFIND PROPPATCH PUT QUERY REBIND REPORT SEARCH TRACE UNBIND UNLINK UNLOCK'
  ).split(' '),
);

export const UNKNOWN_METHOD_DETAIL = 'This server does not know the method. Methods are written in capitals.';

const UNKNOWN_METHOD = new FixedProblem('not_implemented', { detail: UNKNOWN_METHOD_DETAIL });

/**
 * Returns the error for an unknown method, or undefined for a known method. The status is 501 (RFC 9110 section 9.1).
 * If only the path does not support a method, the route responds with 405.
 */
export function methodProblem(method: string | undefined): Problem | undefined {
  return isKnownMethod(method) ? undefined : UNKNOWN_METHOD;
}

function isKnownMethod(method: string | undefined): boolean {
  return method !== undefined && KNOWN.has(method);
}
