/** Validates the query of a request target. Invalid queries are refused with 400. */
import { Problem } from '../platform/problems/errors.js';

/**
 * Matches a character that must be percent-encoded. The allowed characters are those of RFC 3986 section 3.4, and those
 * that browsers do not encode in a query (WHATWG URL, query percent-encode set). A percent sign is allowed even if no
 * valid escape follows, because the backend decodes the query.
 */
const NOT_ALLOWED = /[^A-Za-z0-9._~!$&'()*+,;=:@/?%[\]\\^`{|}-]/;

/** Returns the error in the query of a URL, or undefined if the query is valid. A fragment is an error. */
export function queryProblem(url: string): Problem | undefined {
  const at = url.search(/[?#]/);
  const unfit = at === -1 ? undefined : NOT_ALLOWED.exec(url.slice(at))?.[0];
  return unfit === undefined ? undefined : new Problem('bad_request', { detail: adviceOn(unfit) });
}

function adviceOn(character: string): string {
  if (character === '#') return 'A fragment is not sent to a server. As a part of a value, write # as %23.';
  if (character <= ' ' || character > '~')
    return 'The query has characters that a URL cannot have: percent-encode them.';
  return `The query has ${character} in it, which a URL cannot have: write it as ${encodeURIComponent(character)}.`;
}
