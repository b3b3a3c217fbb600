/** Which methods there are, so that one that is not can be told from one that a path does not have. */
import { FixedProblem, type Problem } from './problems/errors.js';

/**
 * The methods that are registered (RFC 9110 section 16.1.1) and that Node's parser reads. What it
 * cannot read is unknown over HTTP/2 as well; what it reads and nobody has registered (PURGE,
 * SOURCE) is unknown over HTTP/1.1 as well.
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
 * RFC 9110 section 9.1: a method that nobody knows is 501; one that a path does not
 * have stays 405, which the route says.
 */
export function methodProblem(method: string | undefined): Problem | undefined {
  return isKnownMethod(method) ? undefined : UNKNOWN_METHOD;
}

function isKnownMethod(method: string | undefined): boolean {
  return method !== undefined && KNOWN.has(method);
}
